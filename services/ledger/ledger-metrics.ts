// The ledger's metrics. None of them is about a single account, and calls only pay for counting.
import { metrics } from '@opentelemetry/api';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { observeGauges } from '#kit/telemetry/metrics.js';
import { EntryKind } from '#proto/ledger/v1/ledger.js';
import type { Applied, Operation, ReplyTo } from './books/model.js';
import type { OperationLane } from './lane/operation-lane.js';
import type { Reads } from './store/reads.js';
import type { Executor } from './store/store.js';

const scope = 'tollgate.ledger';

/** Counts operations as they pass. Create it once the process's telemetry has started. */
export class LedgerMetrics {
  private readonly batchSize;
  private readonly refusedHolds;
  private readonly shortfallNanoUsd;

  constructor() {
    const meter = metrics.getMeter(scope);
    this.batchSize = meter.createHistogram('tollgate.ledger.batch.size', {
      description: 'Operations that shared a transaction.',
      unit: '{operation}',
      advice: { explicitBucketBoundaries: [1, 2, 5, 10, 20, 50, 100, 200] },
    });
    this.refusedHolds = meter.createCounter('tollgate.holds.refused', {
      description: 'Calls that were refused for want of money, by reason.',
      unit: '{hold}',
    });
    // A float holds nano-USD exactly up to 9 million USD; the journal is exact beyond.
    this.shortfallNanoUsd = meter.createCounter('tollgate.shortfall.nano_usd', {
      description: 'Cost of calls that could not be captured and is our expense, in nano-USD.',
    });
  }

  /** Wraps the store to record the size of each batch. */
  watchStore(store: Executor): Executor {
    return {
      execute: (operations, nowMs, onApplied) => {
        this.batchSize.record(operations.length);
        return store.execute(operations, nowMs, onApplied);
      },
    };
  }

  /** Wraps the lane to count outcomes. */
  watchLane(lane: OperationLane): OperationLane {
    return {
      add: async (operation, waiter, onApplied) => {
        const applied = await lane.add(operation, waiter, onApplied);
        this.count(operation, applied);
        return applied;
      },
      idle: () => lane.idle(),
      get waiting() {
        return lane.waiting;
      },
    };
  }

  /** Counts operations that were applied in a transaction of another service. */
  countBatch(operations: readonly Operation[], outcomes: readonly Applied<ReplyTo<Operation>>[]): void {
    this.batchSize.record(operations.length);
    outcomes.forEach((applied, index) => this.count(operations[index]!, applied));
  }

  private count(operation: Operation, { refusal, changes }: Applied<ReplyTo<Operation>>): void {
    if (refusal !== undefined && operation.kind === 'hold') this.refusedHolds.add(1, { reason: refusal.reason });
    for (const entry of changes.entries ?? []) {
      if (entry.kind === EntryKind.ENTRY_KIND_SHORTFALL) this.shortfallNanoUsd.add(Number(entry.amountNanoUsd));
    }
  }
}

/** Reports queued operations, open holds and unshipped notifications whenever metrics are collected. Returns a function that stops it. */
export function observeLedger(deps: { lane: OperationLane; reads: Reads; clock: Clock; log: Logger }): () => void {
  const { lane, reads, clock, log } = deps;
  return observeGauges(
    scope,
    [
      { name: 'tollgate.ledger.queue', description: 'Operations that wait for their transaction.', unit: '{operation}' },
      { name: 'tollgate.holds.open', description: 'Holds that set money aside.', unit: '{hold}' },
      { name: 'tollgate.holds.past_expiry', description: 'Of these, holds whose expiry has passed.', unit: '{hold}' },
      {
        name: 'tollgate.notifications.outbox_age',
        description: 'How long the oldest notification that auth has not received has waited.',
        unit: 's',
      },
    ],
    async () => {
      const nowMs = clock.nowMs();
      const { open, pastExpiry } = await reads.countOpenHolds(nowMs);
      const unshippedAtMs = Number(await reads.oldestUnshippedNotificationAtMs());
      return [
        { name: 'tollgate.ledger.queue', value: lane.waiting },
        { name: 'tollgate.holds.open', value: open },
        { name: 'tollgate.holds.past_expiry', value: pastExpiry },
        { name: 'tollgate.notifications.outbox_age', value: unshippedAtMs === 0 ? 0 : Math.max(0, nowMs - unshippedAtMs) / 1000 },
      ];
    },
    log,
  );
}
