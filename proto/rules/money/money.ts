// Amounts of money for display and JSON: decimal strings of USD. Inside, money is always a bigint of nano-USD (1e-9 USD).

const nanoPerUsd = 1_000_000_000n;

/** The highest amount of one hold, cost, deposit or adjustment: far above any use. */
export const amountNanoUsdMax = 1_000_000_000n * nanoPerUsd;

/** The highest limit that can be entered: below the maximum of a signed 64-bit integer. */
export const limitNanoUsdMax = 9_000_000_000n * nanoPerUsd;

/** "1.5" for 1_500_000_000n: exact, without trailing zeros, at least one digit before the point. */
export function formatUsd(nanoUsd: bigint): string {
  const sign = nanoUsd < 0n ? '-' : '';
  const absolute = nanoUsd < 0n ? -nanoUsd : nanoUsd;
  const fraction = (absolute % nanoPerUsd).toString().padStart(9, '0').replace(/0+$/, '');
  return `${sign}${absolute / nanoPerUsd}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The nano-USD of a decimal string such as "1.5" or "-0.000000001"; undefined when it is not one or is finer than a nano-dollar. */
export function parseUsd(text: string): bigint | undefined {
  const match = /^(-?)(\d{1,10})(?:\.(\d{1,9}))?$/.exec(text);
  if (match === null) return undefined;
  const absolute = BigInt(match[2]!) * nanoPerUsd + BigInt((match[3] ?? '').padEnd(9, '0'));
  return match[1] === '-' ? -absolute : absolute;
}
