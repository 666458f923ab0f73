// When an alert fires and when it is armed again. Pure.

/** What an account's alert does next. */
export type Step = 'fire' | 'rearm' | 'stay';

const centNanoUsd = 10_000_000n;

/**
 * What has to be available before a fired alert is armed again: 1.2 times the threshold, and at least a cent above it. A balance that
 * moves about the threshold, as calls hold and free money, then fires once.
 */
export function rearmAtNanoUsd(thresholdNanoUsd: bigint): bigint {
  // Rounded up, so that it is never less than 1.2 times.
  const risenNanoUsd = (thresholdNanoUsd * 12n + 9n) / 10n;
  const aCentAboveNanoUsd = thresholdNanoUsd + centNanoUsd;
  return risenNanoUsd > aCentAboveNanoUsd ? risenNanoUsd : aCentAboveNanoUsd;
}

/** Whether less than the threshold is available. */
export function isLow(alert: { readonly enabled: boolean; readonly thresholdNanoUsd: bigint }, availableNanoUsd: bigint): boolean {
  return alert.enabled && availableNanoUsd < alert.thresholdNanoUsd;
}

/** The step for what is available now. */
export function stepOf(alert: { readonly enabled: boolean; readonly fired: boolean; readonly thresholdNanoUsd: bigint }, availableNanoUsd: bigint): Step {
  if (!alert.enabled) return 'stay';
  if (!alert.fired) return isLow(alert, availableNanoUsd) ? 'fire' : 'stay';
  return availableNanoUsd >= rearmAtNanoUsd(alert.thresholdNanoUsd) ? 'rearm' : 'stay';
}
