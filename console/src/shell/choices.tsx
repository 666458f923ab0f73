// Preferences that are stored in the browser and can be changed in more than one place.
import { setZone, useZone, zoneName } from '../format/time.js';
import { shellText } from '../i18n/shell.js';
import { setLanguage, useLanguage, useText } from '../i18n/text.js';
import { Segmented } from '../ui/segmented.js';

export function LanguageChoice() {
  const t = useText(shellText);
  return (
    <Segmented
      label={t.language}
      value={useLanguage()}
      onChange={setLanguage}
      options={[
        { value: 'en', label: 'English' },
        { value: 'zh-CN', label: '简体中文' },
      ]}
    />
  );
}

/** The time zone for times and for the boundaries of days. */
export function ZoneChoice() {
  const t = useText(shellText);
  return (
    <Segmented
      label={t.zone}
      value={useZone()}
      onChange={setZone}
      options={[
        { value: 'utc', label: t.zoneUtc },
        { value: 'local', label: t.zoneLocal({ name: zoneName('local') }) },
      ]}
    />
  );
}
