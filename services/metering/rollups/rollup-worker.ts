// The background job that adds records to the sums that totals are read from.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { repeat } from '#kit/repeat.js';
import type { MeteringConfig } from '../config.js';
import { backfill, clearRollups, type FoldStep, foldUnfolded, leaseFold, Phase, readFold, waitingAfter } from '../store/fold.js';
import { nextStepSize, recordsPerStepMax, recordsPerStepMin } from './step-size.js';
import { SeriesNumbers } from '../store/rollups.js';

/** A replica that stopped without a word is followed by another after this. */
const leaseMs = 15_000;
const pauseMsMin = 2;
const fromStart = Buffer.alloc(16);
/** Looked at together, so that those of an account are added together: of fifty accounts that call in turn, some forty at once. */
const waitingMax = 4000;

export interface RollupWorkerDeps {
  readonly config: Pick<MeteringConfig, 'foldIntervalMs'>;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Folds in metering from `start` to `stop`; of several replicas one at a time does. */
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
      () => this.fold(),
      (error) => {
        if (!this.outcome.signal.aborted)
          log.warn({ err: error }, 'usage could not be added up; this will be tried again, and totals are read from the records meanwhile');
      },
    );
  }

  /** Ends between two steps. */
  async stop(): Promise<void> {
    this.outcome.abort();
    await this.stopRepeating();
  }

  /** Adds everything that there is now to the sums, unless another replica does. Records that come meanwhile may be left for the next time. */
  async fold(): Promise<void> {
    const { db } = this.deps;
    const { phase, isWaiting } = await readFold(db);
    // While nothing happens nothing is written.
    if (phase === Phase.complete && !isWaiting) return;
    if (phase === Phase.clearing) await this.goThrough(() => clearRollups(db));
    // Those of late first, since they are what readers must add up by themselves.
    if (isWaiting) await this.goThrough(this.throughWaiting());
    if (phase !== Phase.complete) await this.goThrough(() => backfill(db, this.numbers, this.stepSize));
  }

  /** Steps through what waits, a page after another, each by account. */
  private throughWaiting(): () => Promise<FoldStep> {
    const { db } = this.deps;
    let page: Awaited<ReturnType<typeof waitingAfter>> = { ids: [], next: fromStart };
    return async () => {
      if (page.ids.length === 0) page = await waitingAfter(db, page.next!, waitingMax);
      const folded = await foldUnfolded(db, this.numbers, page.ids.splice(0, this.stepSize));
      return { folded, next: page.ids.length > 0 ? fromStart : page.next };
    };
  }

  /** Step by step; after each it rests as long as the step took, so that calls have their turn. */
  private async goThrough(step: () => Promise<FoldStep>): Promise<void> {
    while (await this.isOurs()) {
      const startMs = performance.now();
      const { folded, next } = await step();
      const tookMs = performance.now() - startMs;
      // A server does its part elsewhere, and then how long it takes is no measure of what is held up.
      if (this.deps.db.engine === 'sqlite') this.stepSize = nextStepSize(this.stepSize, folded, tookMs);
      if (next === undefined) return;
      await pause(Math.max(pauseMsMin, tookMs), undefined, { signal: this.outcome.signal });
    }
  }

  /** Renews the lease when half of it is over. */
  private async isOurs(): Promise<boolean> {
    const { clock, db } = this.deps;
    const nowMs = clock.nowMs();
    if (nowMs < this.leasedUntilMs - leaseMs / 2) return true;
    const isOurs = await leaseFold(db, this.replica, nowMs, nowMs + leaseMs);
    this.leasedUntilMs = isOurs ? nowMs + leaseMs : 0;
    return isOurs;
  }
}
