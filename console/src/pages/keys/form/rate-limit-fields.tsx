// The form fields for the rate limits of keys and accounts, and the limits in words.
import { type RateLimitForm, type RateLimitName, rateLimitNames } from '../../../format/rate-limits.js';
import type { GatewaySettings } from '../../../../../gateway/console/schemas/profile.js';
import type { RateLimits } from '../../../../../gateway/console/schemas/rate-limits.js';
import { rateLimitsText } from '../../../i18n/rate-limits.js';
import { useText } from '../../../i18n/text.js';
import { useSettings } from '../../../session/settings.js';
import { TextField } from '../../../ui/field.js';

const maxima: Readonly<Record<RateLimitName, string>> = { rpm: '1,000,000', tpm: '1,000,000,000', concurrency: '1,000,000' };

type Limited = keyof GatewaySettings['default_rate_limits'];

/** Three fields in a row. `of` is what they limit, `faults` are the names of those that are not valid. */
export function RateLimitFields({
  of,
  form,
  onChange,
  faults,
}: {
  of: Limited;
  form: RateLimitForm;
  onChange: (form: RateLimitForm) => void;
  faults: readonly RateLimitName[];
}) {
  const t = useText(rateLimitsText);
  const defaults = useSettings()?.default_rate_limits[of];
  return (
    <div className="grid items-end gap-3 sm:grid-cols-3">
      {rateLimitNames.map((name) => (
        <TextField
          key={name}
          label={t[name]}
          hint={defaults && (defaults[name] ? t.defaultIs({ value: defaults[name].toLocaleString('en-US') }) : t.defaultNone)}
          error={faults.includes(name) ? t.fault({ max: maxima[name] }) : undefined}
          inputMode="numeric"
          value={form[name]}
          onChange={(event) => onChange({ ...form, [name]: event.target.value })}
        />
      ))}
    </div>
  );
}

/** Shows limits in words; for a limit that is not set, the default of the installation. */
export function RateLimitWords({ limits, of }: { limits: RateLimits; of: Limited }) {
  const t = useText(rateLimitsText);
  const defaults = useSettings()?.default_rate_limits[of];
  const words = rateLimitNames.flatMap((name) => {
    const inWords = (value: number): string => t[`${name}Of`]({ value: value.toLocaleString('en-US') });
    const own = limits[name];
    if (own !== null) return own === 0 ? t[`${name}None`] : inWords(own);
    const byDefault = defaults?.[name];
    return byDefault ? t.byDefault({ limit: inWords(byDefault) }) : [];
  });
  return <>{words.join(' · ') || (defaults && t.none)}</>;
}
