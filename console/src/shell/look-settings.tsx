// How the console looks in this browser.
import { setTheme, useTheme } from '../format/theme.js';
import { setZone, useZone, zoneName } from '../format/time.js';
import { shellText } from '../i18n/shell.js';
import { setLanguage, useLanguage, useText } from '../i18n/text.js';
import { Segmented } from '../ui/segmented.js';

/** Theme, language and time zone, which this browser remembers. */
export function LookSettings() {
  const t = useText(shellText);
  const [theme, language, zone] = [useTheme(), useLanguage(), useZone()];
  return (
    <div className="flex flex-col gap-4">
      <div>
        <p className="mb-1 text-sm font-medium">{t.theme}</p>
        <Segmented
          label={t.theme}
          value={theme}
          onChange={setTheme}
          options={[
            { value: 'auto', label: t.themeAuto },
            { value: 'light', label: t.themeLight },
            { value: 'dark', label: t.themeDark },
          ]}
        />
      </div>
      <div>
        <p className="mb-1 text-sm font-medium">{t.language}</p>
        <Segmented
          label={t.language}
          value={language}
          onChange={setLanguage}
          options={[
            { value: 'en', label: 'English' },
            { value: 'zh-CN', label: '简体中文' },
          ]}
        />
      </div>
      <div>
        <p className="mb-1 text-sm font-medium">{t.zone}</p>
        <Segmented
          label={t.zone}
          value={zone}
          onChange={setZone}
          options={[
            { value: 'utc', label: t.zoneUtc },
            { value: 'local', label: t.zoneLocal({ name: zoneName('local') }) },
          ]}
        />
      </div>
    </div>
  );
}
