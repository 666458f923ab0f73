// When an alert fires and when it is armed again. It is about the settled balance: what calls only hold comes back, and each burst of
// calls would fire an alert otherwise and arm it again at its end. Pure.

/** What an account's alert does next. */
export type Step = 'fire' | 'rearm' | 'stay';

const centNanoUsd = 10_000_000n;

/**
 * To what a balance has to rise before a fired alert is armed again: 1.2 times the threshold, and at least a cent above it. One that
 * moves about the threshold, as small deposits and calls follow each other, then fires once.
 */
export function rearmAtNanoUsd(thresholdNanoUsd: bigint): bigint {
  // Rounded up, so that it is never less than 1.2 times.
  const risenNanoUsd = (thresholdNanoUsd * 12n + 9n) / 10n;
  const aCentAboveNanoUsd = thresholdNanoUsd + centNanoUsd;
  return risenNanoUsd > aCentAboveNanoUsd ? risenNanoUsd : aCentAboveNanoUsd;
}

/** Whether a balance is below the threshold. */
export function isLow(alert: { readonly enabled: boolean; readonly thresholdNanoUsd: bigint }, settledNanoUsd: bigint): boolean {
  return alert.enabled && settledNanoUsd < alert.thresholdNanoUsd;
}

/** The step for the balance as it is now. */
export function stepOf(
  alert: { readonly enabled: boolean; readonly fired: boolean; readonly thresholdNanoUsd: bigint },
  settledNanoUsd: bigint,
): Step {
  if (!alert.enabled) return 'stay';
  if (!alert.fired) return isLow(alert, settledNanoUsd) ? 'fire' : 'stay';
  return settledNanoUsd >= rearmAtNanoUsd(alert.thresholdNanoUsd) ? 'rearm' : 'stay';
}
