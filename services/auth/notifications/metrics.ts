// The metrics of notifications. None of them is about a single account.
import { gauge, observe } from '#kit/telemetry/metrics.js';
import type { DeliveryDeps } from './try-delivery.js';

const by = 'auth';
const pendingCount = gauge({
  name: 'tollgate.notifications.pending',
  unit: '{notification}',
  description: 'Emails and webhook requests that are not delivered yet.',
  by,
});
const oldestAge = gauge(
  {
    name: 'tollgate.notifications.oldest_age',
    unit: 's',
    description: 'How long the oldest email, or webhook request without a retry, has waited.',
    by,
  },
  'max',
);

/** Reports the notifications that wait whenever metrics are collected. Returns a function that stops it. */
export function observeNotifications({ notifications, clock, log }: Pick<DeliveryDeps, 'notifications' | 'clock' | 'log'>): () => void {
  return observe(async () => {
    const { pending, oldestAtMs } = await notifications.waiting();
    return [pendingCount.at(pending), oldestAge.at(oldestAtMs === 0 ? 0 : Math.max(0, clock.nowMs() - oldestAtMs) / 1000)];
  }, log);
}
