// Amounts, times and bars.
import { classNames } from './class-names.js';
import { digitsAlone, roundedUsd, usdText } from '../format/money.js';
import { useTime } from '../format/time.js';

/**
 * An amount with a fixed number of decimals: `digits`, or two (four below a cent). The exact amount is in the title, is what screen readers read and
 * what is copied, and is shown while something in its row has the focus. `exact` shows every digit. `null` is shown as a dash.
 */
export function Usd({ value, digits, exact = false }: { value: string | null; digits?: number | undefined; exact?: boolean }) {
  if (value === null) return <span>–</span>;
  const whole = usdText(value);
  const shown = exact ? whole : roundedUsd(value, digits ?? digitsAlone(value));
  if (shown === whole) return <span className="tabular whitespace-nowrap">{whole}</span>;
  // What is shown is generated content, which cannot be selected: a copy has the exact amount.
  return (
    <span className="usd tabular whitespace-nowrap" title={whole}>
      <span aria-hidden data-shown={shown} data-exact={whole} />
      <span>{whole}</span>
    </span>
  );
}

/** A time in the chosen zone. The title has the exact time with its zone. */
export function When({ at, style = 'minute' }: { at: string | null; style?: 'second' | 'minute' | 'line' | 'day' | 'relative' | 'full' }) {
  const time = useTime();
  if (at === null) return <span>–</span>;
  return (
    <time dateTime={at} title={time.full(at)}>
      {time[style](at)}
    </time>
  );
}

/** A bar that shows how much of something is used. `label` describes it in words. `plain` bars have no warning colour for large shares; `small` ones are in a line of text. */
export function Bar({ share, label, plain = false, small = false }: { share: number; label: string; plain?: boolean; small?: boolean }) {
  const width = Math.round(Math.min(1, Math.max(0, share)) * 100);
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox="0 0 100 6"
      preserveAspectRatio="none"
      className={classNames('h-1.5 rounded-full', small ? 'w-12 shrink-0' : 'w-full min-w-20')}
    >
      <rect width="100" height="6" className="fill-line" />
      <rect
        width={width}
        height="6"
        className={plain ? 'fill-accent' : share >= 1 ? 'fill-bad' : share >= 0.8 ? 'fill-warn' : 'fill-accent'}
      />
    </svg>
  );
}
