// Money, times and bars.
import { showUsd } from '../format/money.js';
import { useTime } from '../format/time.js';

/** An amount, whole and exact: cents first, the further digits smaller, unless they are all there is. `null` is a dash. */
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

/** A time in the zone in use; the exact one with its zone is the title. */
export function When({ at, style = 'minute' }: { at: string | null; style?: 'second' | 'minute' | 'day' | 'relative' | 'full' }) {
  const time = useTime();
  if (at === null) return <span>–</span>;
  return (
    <time dateTime={at} title={time.full(at)}>
      {time[style](at)}
    </time>
  );
}

/** How much of something is used. `label` says it in words. `plain`: a part of a whole, of which much is no warning. */
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
