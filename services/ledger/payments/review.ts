// The cases that an operator must decide: each is logged as an error and counted, because nothing else shows it.
import { counter } from '#kit/telemetry/metrics.js';
import type { Logger } from '#kit/log.js';
import { type ReviewKind, reviewKinds } from './provider.js';

const reviews = counter({
  name: 'tollgate.payments.review',
  unit: '{event}',
  description: 'Payments, refunds and disputes that an operator must review; the log of the ledger has one line for each.',
  by: 'ledger',
  labels: { kind: Object.keys(reviewKinds).join(', ') },
});
// Exported as 0 from the start, so that the first increase of each can be seen.
for (const kind of Object.keys(reviewKinds)) reviews.of({ kind });

/** Reports a case to the operator. */
export function report(log: Logger, review: ReviewKind, facts: Readonly<Record<string, unknown>>): void {
  reviews.count({ kind: review });
  log.error({ review, ...facts }, `an operator must review a payment: ${reviewKinds[review]}`);
}
