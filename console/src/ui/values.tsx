// Amounts, times and bars.
import { showUsd } from '../format/money.js';
import { useTime } from '../format/time.js';

/** An exact amount. Digits after the cents are smaller, unless the amount is less than a cent. `null` is shown as a dash. */
export function Usd({ value }: { value: string | null }) {
  if (value === null) return <span>–</span>;
  const { main, rest } = showUsd(value);
  return (
    <span className="tabular whitespace-nowrap">
      {main}
      {rest !== '' && <span className={main.endsWith('$0.00') ? undefined : 'text-[0.8em] text-soft'}>{rest}</span>}
    </span>
  );
}

/** A time in the chosen zone. The title has the exact time with its zone. */
export function When({ at, style = 'minute' }: { at: string | null; style?: 'second' | 'minute' | 'day' | 'relative' | 'full' }) {
  const time = useTime();
  if (at === null) return <span>–</span>;
  return (
    <time dateTime={at} title={time.full(at)}>
      {time[style](at)}
    </time>
  );
}

/** A bar that shows how much of something is used. `label` describes it in words. `plain` bars have no warning colour for large shares. */
export function Bar({ share, label, plain = false }: { share: number; label: string; plain?: boolean }) {
  const width = Math.round(Math.min(1, Math.max(0, share)) * 100);
  return (
    <svg role="img" aria-label={label} viewBox="0 0 100 6" preserveAspectRatio="none" className="h-1.5 w-full min-w-20 rounded-full">
      <rect width="100" height="6" className="fill-line" />
      <rect
        width={width}
        height="6"
        className={plain ? 'fill-accent' : share >= 1 ? 'fill-bad' : share >= 0.8 ? 'fill-warn' : 'fill-accent'}
      />
    </svg>
  );
}
