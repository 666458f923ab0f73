// Formats amounts of the API (decimal USD strings with up to nine decimals) for display, without floats. Pure.
import { formatUsd as usdOfNano } from '#rules/money/money.js';

export { usdOfNano };

/** Returns an amount as the API takes it. Users also type `$5`. */
export const typedUsd = (text: string): string => text.trim().replace(/^\$\s*/, '');

/** An amount in two parts: the amount up to the cents, and the remaining digits. Together they are the exact amount. */
export interface ShownUsd {
  readonly main: string;
  readonly rest: string;
}

const form = /^(-?)(\d+)(?:\.(\d+))?$/;

/** Formats an amount, for example `-1234.5005` as `−$1,234.50` and `05`. Raises RangeError if `usd` is not an amount. */
export function showUsd(usd: string): ShownUsd {
  const match = form.exec(usd);
  if (match === null) throw new RangeError(`${usd} is not an amount`);
  const [, sign, whole = '0', decimals = ''] = match;
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  const padded = decimals.replace(/0+$/, '').padEnd(2, '0');
  return { main: `${sign === '-' ? '−' : ''}$${grouped}.${padded.slice(0, 2)}`, rest: padded.slice(2) };
}

/** Returns the exact amount as one text. */
export function usdText(usd: string): string {
  const { main, rest } = showUsd(usd);
  return main + rest;
}

/** The decimals of the amounts of a column: micro-dollars at most, since more cannot be compared at a glance. */
const columnDigitsMax = 6;

/** Returns how many decimals show every digit of these amounts; at least 2. */
export function exactDigitsOf(amounts: readonly (string | null)[]): number {
  return Math.max(2, ...amounts.map((usd) => (usd === null ? 0 : (form.exec(usd)?.[3] ?? '').replace(/0+$/, '').length)));
}

/** Returns how many decimals the amounts of a column have, from 2 to 6. */
export function digitsOf(amounts: readonly (string | null)[]): number {
  return Math.min(columnDigitsMax, exactDigitsOf(amounts));
}

/** Returns how many decimals show the smallest of these amounts to two digits: 2, 4 or 6, and no more than show every digit of all. */
export function fewDigitsOf(amounts: readonly (string | null)[]): number {
  const sizes = amounts.map((usd) => nanoUsdOf(usd ?? '0')).map((nano) => (nano < 0n ? -nano : nano));
  const smallest = sizes.filter((nano) => nano > 0n).reduce((one, other) => (other < one ? other : one), 1_000_000_000n);
  return Math.min(digitsOf(amounts), smallest >= 100_000_000n ? 2 : smallest >= 1_000_000n ? 4 : columnDigitsMax);
}

/** Returns how many decimals a single amount has: two, or four below a cent. */
export function digitsAlone(usd: string): number {
  const nano = nanoUsdOf(usd);
  return nano !== 0n && nano > -10_000_000n && nano < 10_000_000n ? 4 : 2;
}

/** Returns a single amount, rounded. */
export const shortUsd = (usd: string): string => roundedUsd(usd, digitsAlone(usd));

/** Rounds an amount half away from zero to this many decimals; an amount that would look like zero is shown as less than the smallest amount. */
export function roundedUsd(usd: string, digits: number): string {
  const nano = nanoUsdOf(usd);
  const unit = 10n ** BigInt(9 - digits);
  const size = nano < 0n ? -nano : nano;
  const rounded = ((size + unit / 2n) / unit) * unit;
  const text = (amount: bigint): string => {
    const [whole = '', decimals = ''] = usdOfNano(amount).split('.');
    return `$${whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',')}.${decimals.padEnd(digits, '0')}`;
  };
  const sign = nano < 0n ? '−' : '';
  return rounded === 0n && nano !== 0n ? `<${sign}${text(unit)}` : `${sign}${text(rounded)}`;
}

/** Returns an amount in nano-USD. Raises RangeError if `usd` is not an amount. */
export function nanoUsdOf(usd: string): bigint {
  const match = form.exec(usd);
  if (match === null) throw new RangeError(`${usd} is not an amount`);
  const [, sign, whole = '0', decimals = ''] = match;
  const nano = BigInt(whole) * 1_000_000_000n + BigInt(decimals.slice(0, 9).padEnd(9, '0'));
  return sign === '-' ? -nano : nano;
}

/** Returns `part` divided by `whole`, between 0 and 1, for the width of a bar. */
export function shareOf(part: string, whole: string): number {
  const [top, bottom] = [nanoUsdOf(part), nanoUsdOf(whole)];
  if (bottom <= 0n) return top > 0n ? 1 : 0;
  return Math.min(1, Math.max(0, Number((top * 10_000n) / bottom) / 10_000));
}

/**
 * Returns an amount of nano-USD for the axis of a chart whose marks are `step` apart, with as many decimals as every mark of that axis. It is only
 * drawn, so this is the only amount that may be a float.
 */
export function axisUsd(nano: number, step: number): string {
  const [, decimals = ''] = /\.(\d*?)0*$/.exec((step / 1e9).toFixed(9)) ?? [];
  return `$${(nano / 1e9).toFixed(decimals === '' ? 0 : Math.max(2, decimals.length))}`;
}
