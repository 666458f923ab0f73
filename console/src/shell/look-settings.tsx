// Appearance settings of this browser.
import { setTheme, useTheme } from '../format/theme.js';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { Segmented } from '../ui/segmented.js';
import { LanguageChoice, ZoneChoice } from './choices.js';

/** Settings of theme, language and time zone, which are stored in the browser. */
export function LookSettings() {
  const t = useText(shellText);
  const theme = useTheme();
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
        <LanguageChoice />
      </div>
      <div>
        <p className="mb-1 text-sm font-medium">{t.zone}</p>
        <ZoneChoice />
      </div>
    </div>
  );
}
