// What this browser remembers of its user's taste and is changed in more than one place.
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

/** The time zone that instants are shown in and days are cut by. */
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
