// The fields of rate limits, and the limits in words; of keys and of accounts.
import { type RateLimitForm, type RateLimitName, rateLimitNames } from '../../format/rate-limits.js';
import type { RateLimits } from '../../../../gateway/console/schemas/rate-limits.js';
import { rateLimitsText } from '../../i18n/rate-limits.js';
import { useText } from '../../i18n/text.js';
import { TextField } from '../../ui/field.js';

const maxima: Readonly<Record<RateLimitName, string>> = { rpm: '1,000,000', tpm: '1,000,000,000', concurrency: '1,000,000' };

/** Three fields in a row. `faults` are the names of those that are not valid. */
export function RateLimitFields({
  form,
  onChange,
  faults,
}: {
  form: RateLimitForm;
  onChange: (form: RateLimitForm) => void;
  faults: readonly RateLimitName[];
}) {
  const t = useText(rateLimitsText);
  return (
    <div className="grid items-end gap-3 sm:grid-cols-3">
      {rateLimitNames.map((name) => (
        <TextField
          key={name}
          label={t[name]}
          error={faults.includes(name) ? t.fault({ max: maxima[name] }) : undefined}
          inputMode="numeric"
          value={form[name]}
          onChange={(event) => onChange({ ...form, [name]: event.target.value })}
        />
      ))}
    </div>
  );
}

/** Limits in words. */
export function RateLimitWords({ limits }: { limits: RateLimits }) {
  const t = useText(rateLimitsText);
  const words = rateLimitNames.flatMap((name) => {
    const value = limits[name];
    return value === null ? [] : [value === 0 ? t[`${name}None`] : t[`${name}Of`]({ value: value.toLocaleString('en-US') })];
  });
  return <>{words.length === 0 ? t.byDefault : words.join(' · ')}</>;
}
