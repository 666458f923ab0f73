// Times, amounts and absent values between JSON and messages. Pure.
import { fieldFault } from '#client/errors/fault.js';
import { parseUsd } from '#rules/money/money.js';

/** Returns a time in epoch milliseconds as RFC 3339. */
export function instant(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}

/** Returns null for an absent value. */
export function maybe<T, R>(value: T | undefined, render: (value: T) => R): R | null {
  return value === undefined ? null : render(value);
}

/** Returns null for an empty text, by which messages represent an absent one. */
export function orNull(text: string): string | null {
  return text === '' ? null : text;
}

/** Returns the nano-USD of an amount in a body. Raises invalid_request, which names the field, for one above the maximum or finer than a nano-dollar. */
export function nanoUsdOf(field: string, usd: string, maxNanoUsd: bigint): bigint {
  if ((usd.split('.')[1] ?? '').length > 9) throw fieldFault(field, 'max_decimals', { max: 9 });
  const nanoUsd = parseUsd(usd);
  // An amount with more digits than any valid one has is not parsed.
  if (nanoUsd === undefined || nanoUsd > maxNanoUsd)
    throw fieldFault(field, 'at_most', { max: (maxNanoUsd / 1_000_000_000n).toLocaleString('en') });
  return nanoUsd;
}
