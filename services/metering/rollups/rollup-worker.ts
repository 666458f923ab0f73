// The background job that adds records to the roll-ups from which totals are read.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { repeat } from '#kit/scheduling/repeat.js';
import type { MeteringConfig } from '../config.js';
import {
  backfill,
  clearRollups,
  type RollupStep,
  rollUpPending,
  leaseRollup,
  Phase,
  readRollupState,
  pendingAfter,
} from '../store/sums/rollup-steps.js';
import { nextStepSize, recordsPerStepMax, recordsPerStepMin } from './step-size.js';
import { SeriesNumbers } from '../store/sums/rollups.js';

/** After this, another replica takes over from one that stopped without releasing its lease. */
const leaseMs = 15_000;
const pauseMsMin = 2;
const fromStart = Buffer.alloc(16);
/** Records read together, so that those of one account are added together: with fifty accounts calling in turn, about forty at a time. */
const pendingMax = 4000;

export interface RollupWorkerDeps {
  readonly config: Pick<MeteringConfig, 'foldIntervalMs'>;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Rolls up usage periodically, from `start` to `stop`. One replica does so at a time. */
export class RollupWorker {
  private readonly replica = randomBytes(16);
  private readonly numbers = new SeriesNumbers();
  private leasedUntilMs = 0;
  private stepSize: number;
  private readonly outcome = new AbortController();
  private stopRepeating: () => Promise<void> = async () => {};

  constructor(private readonly deps: RollupWorkerDeps) {
    this.stepSize = deps.db.engine === 'sqlite' ? recordsPerStepMin : recordsPerStepMax;
  }

  start(): void {
    const { config, log } = this.deps;
    this.stopRepeating = repeat(
      config.foldIntervalMs,
      () => this.rollUp(),
      (error) => {
        if (!this.outcome.signal.aborted)
          log.warn({ err: error }, 'usage could not be rolled up; this will be retried, and totals are read from the records meanwhile');
      },
    );
  }

  /** Stops between two steps. */
  async stop(): Promise<void> {
    this.outcome.abort();
    await this.stopRepeating();
  }

  /** Adds all current records to the sums, unless another replica does. Records that arrive in the meantime may be left for the next run. */
  async rollUp(): Promise<void> {
    const { db } = this.deps;
    const { phase, isWaiting } = await readRollupState(db);
    if (phase === Phase.clearing) await this.runSteps(() => clearRollups(db));
    // Recent records first, since queries must add those up themselves.
    if (isWaiting) await this.runSteps(this.throughPending());
    if (phase !== Phase.complete) await this.runSteps(() => backfill(db, this.numbers, this.stepSize));
  }

  /** Returns a step that adds waiting records page by page, by account. */
  private throughPending(): () => Promise<RollupStep> {
    const { db } = this.deps;
    let page: Awaited<ReturnType<typeof pendingAfter>> = { ids: [], next: fromStart };
    return async () => {
      if (page.ids.length === 0) page = await pendingAfter(db, page.next!, pendingMax);
      const added = await rollUpPending(db, this.numbers, page.ids.splice(0, this.stepSize));
      return { added, next: page.ids.length > 0 ? fromStart : page.next };
    };
  }

  /** Runs step by step; after each step it pauses as long as the step took, so that calls get their turn. */
  private async runSteps(step: () => Promise<RollupStep>): Promise<void> {
    while (await this.isOurs()) {
      const startMs = performance.now();
      const { added, next } = await step();
      const tookMs = performance.now() - startMs;
      // With a database server the work happens elsewhere, so its duration does not measure what is delayed here.
      if (this.deps.db.engine === 'sqlite') this.stepSize = nextStepSize(this.stepSize, added, tookMs);
      if (next === undefined) return;
      await pause(Math.max(pauseMsMin, tookMs), undefined, { signal: this.outcome.signal });
    }
  }

  /** Reports whether this replica has the lease; renews it when half of it is over. */
  private async isOurs(): Promise<boolean> {
    const { clock, db } = this.deps;
    const nowMs = clock.nowMs();
    if (nowMs < this.leasedUntilMs - leaseMs / 2) return true;
    const isOurs = await leaseRollup(db, this.replica, nowMs, nowMs + leaseMs);
    this.leasedUntilMs = isOurs ? nowMs + leaseMs : 0;
    return isOurs;
  }
}
