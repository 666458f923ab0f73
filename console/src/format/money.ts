// Money as the API writes it, decimal-string USD with up to nine decimals, for the eye. No float touches it. Pure.

/** An amount in two parts: what is read first, with the cents, and the exact rest. Together they are the whole amount. */
export interface ShownUsd {
  readonly main: string;
  readonly rest: string;
}

const form = /^(-?)(\d+)(?:\.(\d+))?$/;

/** For example `-1234.5005` as `−$1,234.50` and `05`. Raises RangeError for what is no amount. */
export function showUsd(usd: string): ShownUsd {
  const match = form.exec(usd);
  if (match === null) throw new RangeError(`${usd} is no amount`);
  const [, sign, whole = '0', decimals = ''] = match;
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  const padded = decimals.replace(/0+$/, '').padEnd(2, '0');
  return { main: `${sign === '-' ? '−' : ''}$${grouped}.${padded.slice(0, 2)}`, rest: padded.slice(2) };
}

/** The whole amount as one text. */
export function usdText(usd: string): string {
  const { main, rest } = showUsd(usd);
  return main + rest;
}

/** Nano-USD of an amount. Raises RangeError. */
export function nanoUsdOf(usd: string): bigint {
  const match = form.exec(usd);
  if (match === null) throw new RangeError(`${usd} is no amount`);
  const [, sign, whole = '0', decimals = ''] = match;
  const nano = BigInt(whole) * 1_000_000_000n + BigInt(decimals.slice(0, 9).padEnd(9, '0'));
  return sign === '-' ? -nano : nano;
}

/** An amount of nano-USD as the API writes it. */
export function usdOfNano(nano: bigint): string {
  const size = nano < 0n ? -nano : nano;
  const decimals = (size % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '');
  return `${nano < 0n ? '-' : ''}${size / 1_000_000_000n}${decimals === '' ? '' : `.${decimals}`}`;
}

/** `part` of `whole` between 0 and 1, for the width of a bar. */
export function shareOf(part: string, whole: string): number {
  const [top, bottom] = [nanoUsdOf(part), nanoUsdOf(whole)];
  if (bottom <= 0n) return top > 0n ? 1 : 0;
  return Math.min(1, Math.max(0, Number((top * 10_000n) / bottom) / 10_000));
}

/** A round figure of nano-USD at the axis of a chart, two digits of it: for the eye alone, and so the one amount that is a float. */
export function axisUsd(nano: number): string {
  const usd = Number((nano / 1e9).toPrecision(2));
  const cents = Math.round(usd * 100) / 100;
  if (Number.isInteger(usd)) return `$${usd}`;
  return cents === usd ? `$${usd.toFixed(2)}` : `$${usd.toFixed(9).replace(/0+$/, '')}`;
}
