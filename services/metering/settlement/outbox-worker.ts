// Delivers settlements to the ledger: sent at least once, booked exactly once, because the ledger knows each call id.
import { setTimeout as pause } from 'node:timers/promises';
import { type Context, context as activeContext } from '@opentelemetry/api';
import { BatchLane } from '#kit/scheduling/batch-lane.js';
import type { Clock } from '#kit/clock.js';
import { isDatabaseUnavailable } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { callContext } from '#client/call-context.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import type { MeteringConfig } from '../config.js';
import { isLedgerUnavailable, isRefusal, type LedgerOutage } from './ledger-outage.js';
import { repeat } from '#kit/scheduling/repeat.js';
import { inChildSpan } from '#kit/telemetry/traces/batch-span.js';
import { nextTurn } from '#kit/scheduling/turn.js';
import { countSettlement } from '../metering-metrics.js';
import { claimDue, makeAllDue, type Outcome, type PendingSettlement, storeOutcomes } from '../store/settlement/outbox.js';

const inHandMax = 10_000;
const claimedPerPollMax = 500;
const outcomesPerTransactionMax = 100;
const backoffMinMs = 200;
/** How long settlements wait at most for a group that is in progress, and for enough of them to form the next one. */
const groupWaitMsMax = 50;
/** A group of this many is followed by the next one immediately. */
const groupWanted = 50;

/** Holds the dependencies of the worker. */
export interface OutboxWorkerDeps {
  readonly config: MeteringConfig;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ledger: Pick<LedgerService, 'settle'>;
  readonly outage: LedgerOutage;
}

/** A settlement to deliver, and the trace of the call that recorded it; settlements found by the poll have none. */
interface Taken {
  readonly item: PendingSettlement;
  readonly trace: Context;
}

/**
 * Delivers settlements in two ways. `take` receives new records right after their commit, without a query to the
 * database: the insert was the claim. Whatever a crash, an outage or a full queue leaves behind becomes due in the
 * database and is claimed by the poll of any replica.
 */
export class OutboxWorker {
  private readonly queue: Taken[] = [];
  private readonly inHand = new Set<string>();
  private readonly outcomes: BatchLane<Outcome>;
  private delivering = 0;
  private isGroupAhead = false;
  private stopped = false;
  private onIdle: (() => void) | undefined;
  private stopPolling: () => Promise<void> = async () => {};

  constructor(private readonly deps: OutboxWorkerDeps) {
    this.outcomes = new BatchLane({
      name: 'settlements',
      apply: async (outcomes) => {
        await storeOutcomes(deps.db, outcomes, deps.clock.nowMs());
        return outcomes.map(() => undefined);
      },
      isOfOneItem: (error) => !isDatabaseUnavailable(error),
      batchMax: outcomesPerTransactionMax,
      queueMax: inHandMax,
    });
  }

  /** Starts to deliver. The backlog of an earlier process is due immediately; if another replica is delivering it too, the ledger recognises the repeat. */
  async start(): Promise<void> {
    const { config, db, clock, log } = this.deps;
    await makeAllDue(db, clock.nowMs());
    this.stopPolling = repeat(
      config.outboxPollMs,
      () => this.poll(),
      (error) => log.error({ err: error }, 'the outbox could not be read'),
    );
  }

  /** Delivers settlements that are claimed by this replica. Those beyond the limit are left to the poll, once their claim has expired. */
  take(items: readonly PendingSettlement[]): void {
    if (this.stopped || items.length === 0) return;
    for (const item of items) {
      if (this.inHand.size >= inHandMax || this.inHand.has(item.callId)) continue;
      this.inHand.add(item.callId);
      this.queue.push({ item, trace: activeContext.active() });
    }
    // The records of one transaction are taken one after another within a turn.
    void nextTurn().then(() => this.pump());
  }

  /** Takes no more, and waits for deliveries in progress, at most the drain timeout. The rest stays in the database. */
  async stop(): Promise<void> {
    await this.stopPolling();
    if (this.inHand.size > 0) {
      const idle = new Promise<void>((resolve) => (this.onIdle = resolve));
      await Promise.race([idle, pause(this.deps.config.drainTimeoutMs, undefined, { ref: false })]);
    }
    this.stopped = true;
    this.queue.length = 0;
    await this.outcomes.idle();
  }

  private async poll(): Promise<void> {
    const { config, db, clock } = this.deps;
    const room = Math.min(claimedPerPollMax, inHandMax - this.inHand.size);
    if (room <= 0) return;
    const nowMs = clock.nowMs();
    this.take(await claimDue(db, nowMs, nowMs + config.outboxClaimMs, room));
  }

  /**
   * Delivers what waits as one group, which shares transactions here and at the ledger. What arrives meanwhile forms the next group: no caller
   * waits for it, and larger groups need fewer transactions, so a few settlements are followed by a pause. A slow ledger delays the next group
   * only briefly, because that one may be about other accounts.
   */
  private pump(): void {
    if (this.isGroupAhead) return;
    const group = this.queue.splice(0, this.deps.config.settleConcurrency - this.delivering);
    if (group.length === 0) return;
    // A single settlement is no sign that more will follow, and settlements that the limit left in the queue should not wait.
    const isFew = group.length > 1 && group.length < groupWanted && this.queue.length === 0;
    this.delivering += group.length;
    this.isGroupAhead = true;
    let isAhead = true;
    const next = (): void => {
      if (isAhead) this.isGroupAhead = isAhead = false;
      this.pump();
    };
    const timer = setTimeout(next, groupWaitMsMax).unref();
    const ended = async ({ item, trace }: Taken): Promise<void> => {
      await activeContext.with(trace, () => inChildSpan('deliver settlement', () => this.deliver(item)));
      this.delivering -= 1;
      this.inHand.delete(item.callId);
      if (this.inHand.size === 0) this.onIdle?.();
    };
    void Promise.all(group.map(ended)).then(() => {
      // The timer starts the next group. Once it has fired, it may have found no room for one.
      if (isFew && isAhead) return;
      clearTimeout(timer);
      next();
    });
  }

  private async deliver(item: PendingSettlement): Promise<void> {
    const outcome = await this.attempt(item);
    // After the stop the database may be closed; another process delivers the settlement again.
    if (this.stopped) return;
    try {
      await this.outcomes.add(outcome);
      if (outcome.kind === 'settled') countSettlement(Number(item.recordedAtMs), this.deps.clock.nowMs());
    } catch (error) {
      this.deps.log.error(
        { err: error, call_id: item.callId },
        'the outcome of a settlement could not be stored; it will be delivered again',
      );
    }
  }

  private async attempt(item: PendingSettlement): Promise<Outcome> {
    const { config, ledger, log, outage } = this.deps;
    try {
      const { hold } = await ledger.settle(
        { holdId: item.callId, accountId: item.accountId, costNanoUsd: item.chargeNanoUsd, keyId: item.keyId },
        callContext({ caller: 'metering', timeoutMs: config.settleTimeoutMs }),
      );
      if (hold === undefined) throw new Error('The ledger answered a settlement without its hold.');
      outage.ended();
      return { kind: 'settled', item, capturedNanoUsd: hold.capturedNanoUsd, shortfallNanoUsd: hold.shortfallNanoUsd };
    } catch (error) {
      if (isRefusal(error)) {
        log.error(
          { err: error, call_id: item.callId, account_id: item.accountId },
          'the ledger refused a settlement permanently; it is kept for operators',
        );
        return { kind: 'failed', item, error: textOf(error) };
      }
      if (isLedgerUnavailable(error)) outage.began(error);
      else log.error({ err: error, call_id: item.callId, attempts: item.attempts + 1 }, 'a settlement failed; it will be retried');
      return { kind: 'postponed', item, nextAttemptAtMs: this.nextAttemptAtMs(item), error: textOf(error) };
    }
  }

  /** Returns when to retry: doubling pauses up to the maximum. The jitter keeps settlements that failed together from being retried together. */
  private nextAttemptAtMs(item: PendingSettlement): number {
    const pauseMs = Math.min(this.deps.config.settleBackoffMaxMs, backoffMinMs * 2 ** Math.min(item.attempts, 20));
    return this.deps.clock.nowMs() + Math.ceil(pauseMs * (0.5 + Math.random() / 2));
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
