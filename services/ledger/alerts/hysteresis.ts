// When an alert fires and when it is rearmed. It looks at the settled balance: funds that are only held come back, so otherwise each burst of
// calls would fire an alert and rearm it when the burst is over. Pure.

/** What happens next to an account's alert. */
export type Step = 'fire' | 'rearm' | 'stay';

const centNanoUsd = 10_000_000n;

/**
 * Returns the balance at which a fired alert is rearmed: 1.2 times the threshold, and at least a cent above it. A balance that
 * moves around the threshold, as small deposits and calls alternate, then fires once.
 */
export function rearmAtNanoUsd(thresholdNanoUsd: bigint): bigint {
  // Rounded up, so that it is never less than 1.2 times.
  const risenNanoUsd = (thresholdNanoUsd * 12n + 9n) / 10n;
  const aCentAboveNanoUsd = thresholdNanoUsd + centNanoUsd;
  return risenNanoUsd > aCentAboveNanoUsd ? risenNanoUsd : aCentAboveNanoUsd;
}

/** Reports whether a balance is below the threshold. */
export function isLow(alert: { readonly enabled: boolean; readonly thresholdNanoUsd: bigint }, settledNanoUsd: bigint): boolean {
  return alert.enabled && settledNanoUsd < alert.thresholdNanoUsd;
}

/** Returns the step for the current balance. */
export function stepOf(
  alert: { readonly enabled: boolean; readonly fired: boolean; readonly thresholdNanoUsd: bigint },
  settledNanoUsd: bigint,
): Step {
  if (!alert.enabled) return 'stay';
  if (!alert.fired) return isLow(alert, settledNanoUsd) ? 'fire' : 'stay';
  return settledNanoUsd >= rearmAtNanoUsd(alert.thresholdNanoUsd) ? 'rearm' : 'stay';
}
