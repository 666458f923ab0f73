// The fields for an upstream's own limits, in its form.
import type { UpstreamFields } from '../../../api/operator-catalog.js';
import { targetsText } from '../../../i18n/operator-targets.js';
import { useText } from '../../../i18n/text.js';
import { Disclosure } from '../../../ui/disclosure.js';
import { type FieldError, TextField } from '../../../ui/field.js';

type Limits = NonNullable<UpstreamFields['limits']>;

const names = [
  'connect_timeout_ms',
  'first_token_timeout_ms',
  'slow_first_token_ms',
  'idle_timeout_ms',
  'total_timeout_ms',
  'calls_max',
  'requests_per_minute',
  'tokens_per_minute',
  'probe_interval_ms',
] as const satisfies readonly (keyof Limits)[];

export function UpstreamLimits({
  limits,
  onChange,
  at,
}: {
  limits: Limits;
  onChange: (limits: Limits) => void;
  at: (field: string) => FieldError | undefined;
}) {
  const t = useText(targetsText);
  const isFaulty = names.some((name) => at(`limits.${name}`) !== undefined);
  const hasOwn = names.some((name) => typeof limits[name] === 'number');
  return (
    <Disclosure summary={t.limits} open={hasOwn || isFaulty}>
      <p className="mb-3 text-sm text-soft">{t.limitsHint}</p>
      <div className="grid items-end gap-3 sm:grid-cols-2">
        {names.map((name) => (
          <TextField
            key={name}
            label={t[`limit_${name}`]}
            type="number"
            min={1}
            step={1}
            value={limits[name] ?? ''}
            onChange={({ target: { value } }) => onChange({ ...limits, [name]: value === '' ? null : Math.trunc(Number(value)) })}
            error={at(`limits.${name}`)}
          />
        ))}
      </div>
    </Disclosure>
  );
}
