// The metrics of notifications. None of them is about a single account.
import { observeGauges } from '#kit/telemetry/metrics.js';
import type { DeliveryDeps } from './try-delivery.js';

/** Reports the notifications that wait whenever metrics are collected. Returns a function that stops it. */
export function observeNotifications({ notifications, clock, log }: Pick<DeliveryDeps, 'notifications' | 'clock' | 'log'>): () => void {
  return observeGauges(
    'tollgate.auth',
    [
      {
        name: 'tollgate.notifications.pending',
        description: 'Mails and webhook requests that are not delivered yet.',
        unit: '{notification}',
      },
      { name: 'tollgate.notifications.oldest_age', description: 'How long the oldest of them has waited.', unit: 's' },
    ],
    async () => {
      const { pending, oldestAtMs } = await notifications.waiting();
      return [
        { name: 'tollgate.notifications.pending', value: pending },
        { name: 'tollgate.notifications.oldest_age', value: pending === 0 ? 0 : Math.max(0, clock.nowMs() - oldestAtMs) / 1000 },
      ];
    },
    log,
  );
}
