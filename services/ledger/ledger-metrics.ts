// The ledger's metrics. No metric is labelled by account, and a call costs no more than counting.
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { counter, gauge, observe } from '#kit/telemetry/metrics.js';
import { EntryKind } from '#proto/ledger/v1/ledger.js';
import type { Applied, Operation, ReplyTo } from './books/model.js';
import type { OperationLane } from './lane/operation-lane.js';
import type { Reads } from './store/reads.js';

const by = 'ledger';
const holds = counter({
  name: 'tollgate.holds',
  unit: '{hold}',
  description: 'Decisions about holds, which set aside the worst-case cost of a call.',
  by,
  labels: { result: 'admitted, or why the ledger refused: balance_empty, balance_held, key_limit_reached, budget_reached and so on.' },
});
const shortfall = counter({
  name: 'tollgate.shortfall.nano_usd',
  // A float holds nano-USD exactly up to 9 million USD.
  unit: '{nano_usd}',
  description:
    'Cost of calls that could not be captured and is borne by the operator, in nano-USD; the journal is exact beyond 9 million USD.',
  by,
});
const openHolds = gauge({ name: 'tollgate.holds.open', unit: '{hold}', description: 'Holds that set money aside.', by }, 'max');
const expiredHolds = gauge(
  { name: 'tollgate.holds.past_expiry', unit: '{hold}', description: 'Holds that set money aside although their expiry has passed.', by },
  'max',
);
const notificationAge = gauge(
  {
    name: 'tollgate.notifications.outbox_age',
    unit: 's',
    description: 'How long the oldest notification that auth has not received has waited.',
    by,
  },
  'max',
);

/** Wraps the lane to count outcomes. */
export function countedLane(lane: OperationLane): OperationLane {
  return {
    add: async (operation, waiter, onApplied) => {
      const applied = await lane.add(operation, waiter, onApplied);
      countOperation(operation, applied);
      return applied;
    },
    idle: () => lane.idle(),
    get waiting() {
      return lane.waiting;
    },
  };
}

/** Counts an operation that was applied. */
export function countOperation(operation: Operation, { refusal, changes }: Applied<ReplyTo<Operation>>): void {
  if (operation.kind === 'hold') holds.count({ result: refusal === undefined ? 'admitted' : refusal.reason });
  for (const entry of changes.entries ?? []) {
    if (entry.kind === EntryKind.ENTRY_KIND_SHORTFALL) shortfall.of().add(Number(entry.amountNanoUsd));
  }
}

/** Reports open holds and unshipped notifications whenever metrics are collected. Returns a function that stops it. */
export function observeLedger({ reads, clock, log }: { reads: Reads; clock: Clock; log: Logger }): () => void {
  return observe(async () => {
    const nowMs = clock.nowMs();
    const { open, pastExpiry } = await reads.countOpenHolds(nowMs);
    const unshippedAtMs = Number(await reads.oldestUnshippedNotificationAtMs());
    return [
      openHolds.at(open),
      expiredHolds.at(pastExpiry),
      notificationAge.at(unshippedAtMs === 0 ? 0 : Math.max(0, nowMs - unshippedAtMs) / 1000),
    ];
  }, log);
}
