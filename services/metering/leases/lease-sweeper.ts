// Closes calls whose gateway vanished: a call in flight that is not checkpointed for the duration of its lease is recorded at its last checkpoint.
import type { Clock } from '#kit/clock.js';
import { isDatabaseUnavailable, isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { repeat } from '#kit/scheduling/repeat.js';
import { Outcome, UsageSource } from '#proto/metering/v1/metering.js';
import type { MeteringConfig } from '../config.js';
import type { LeaseGrace } from './lease-grace.js';
import { countRecord } from '../metering-metrics.js';
import { recordInstants } from '../records/record-lane.js';
import { insertLostRecord } from '../store/records/close-calls.js';
import { findUnseenCalls, type OpenCall } from '../store/records/open-calls.js';
import { hasDueDeferred, releaseDeferred } from '../store/settlement/outbox.js';
import { isFreeIfLost } from '#rules/money/outcomes.js';
import { type PricedRecord, priceRecord } from '../records/usage-record.js';

const callsPerSweepMax = 200;
const uint32Max = 4_294_967_295;

/** Holds the dependencies of the sweeper. */
export interface LeaseSweeperDeps {
  readonly config: MeteringConfig;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly grace: LeaseGrace;
}

/** Sweeps lost calls. Several replicas may sweep at the same time: the delete of the row of the call in flight decides which of them records it. */
export class LeaseSweeper {
  private stopSweeping: () => Promise<void> = async () => {};

  constructor(private readonly deps: LeaseSweeperDeps) {}

  /**
   * Starts to sweep, one lease from now: no call could be checkpointed while metering was unavailable, so all calls first get the chance. No report
   * could be stored either, so lost calls are settled after their grace period from now.
   */
  start(): void {
    const { config, grace, log } = this.deps;
    grace.begin();
    this.stopSweeping = repeat(
      config.sweepIntervalMs,
      async () => {
        try {
          await this.settleLost();
          if (!grace.isOn()) await this.sweep();
        } catch (error) {
          // While the database was unavailable, calls could be neither checkpointed nor reported.
          grace.begin();
          throw error;
        }
      },
      (error) => log.error({ err: error }, 'calls in flight could not be read'),
    );
  }

  stop(): Promise<void> {
    return this.stopSweeping();
  }

  private async settleLost(): Promise<void> {
    const { clock, db, grace } = this.deps;
    const nowMs = clock.nowMs();
    const isDue = await hasDueDeferred(db, nowMs);
    grace.noteAvailable();
    if (isDue && !grace.isAwaitingReports()) await releaseDeferred(db, nowMs);
  }

  private async sweep(): Promise<void> {
    const { clock, config, db, grace, log } = this.deps;
    for (const lost of await findUnseenCalls(db, clock.nowMs() - config.leaseMs, callsPerSweepMax)) {
      // The grace period may have begun during the sweep.
      grace.noteAvailable();
      if (grace.isOn()) return;
      try {
        await this.close(lost);
      } catch (error) {
        // The call's own record arrived after the row was read; that record stands, and the next sweep removes the rest.
        if (isDuplicate(error)) continue;
        if (isDatabaseUnavailable(error)) throw error;
        log.error({ err: error, call_id: lost.call.id }, 'a lost call could not be recorded; this will be retried');
      }
    }
  }

  private async close(lost: OpenCall): Promise<void> {
    const { clock, config, db, log } = this.deps;
    const nowMs = clock.nowMs();
    const record = lostRecord(lost, nowMs);
    if (!(await insertLostRecord(db, lost, record, recordInstants(config, nowMs), nowMs + config.lostGraceMs))) return;
    log.warn(
      { call_id: lost.call.id, account_id: lost.call.accountId, last_seen_at_ms: lost.lastSeenAtMs },
      'a gateway lost a call; it is charged at its last checkpoint unless its own report arrives',
    );
    countRecord(record.record);
  }
}

function lostRecord(lost: OpenCall, nowMs: number): PricedRecord {
  const { call, tokens, lastSeenAtMs } = lost;
  return priceRecord(
    {
      call,
      tokens,
      source: UsageSource.USAGE_SOURCE_ESTIMATED,
      outcome: Outcome.OUTCOME_GATEWAY_LOST,
      outcomeDetail: 'lease_expired',
      firstOutputMs: undefined,
      durationMs: Math.min(uint32Max, Math.max(0, lastSeenAtMs - Number(call.startedAtMs))),
      free: isFreeIfLost(call.streaming),
      quarantined: false,
      storedAnswer: Buffer.alloc(0),
    },
    nowMs,
  );
}
