// The background job that ends expired holds, and makes the deposits of codes whose claiming process died.
import { repeat } from '#kit/scheduling/repeat.js';
import { completeClaims } from '../codes/redeem.js';
import type { RpcDeps } from '../deps.js';
import { expireHolds } from './expire.js';

/** Ends expired holds periodically until it is stopped. */
export class Sweeper {
  private readonly ended = new AbortController();
  private first: Promise<void> | undefined;
  private stopRepeating = async (): Promise<void> => {};

  constructor(private readonly deps: RpcDeps) {}

  start(): void {
    if (this.first !== undefined) return;
    this.first = this.sweep();
    // A sweep reports its failures itself.
    this.stopRepeating = repeat(
      this.deps.config.sweepIntervalMs,
      () => this.sweep(),
      () => undefined,
    );
  }

  /** Waits for the sweep in progress. */
  async stop(): Promise<void> {
    this.ended.abort();
    await this.first;
    await this.stopRepeating();
  }

  /** Sweeps once, or repeatedly while batches are full, as after an outage. */
  private async sweep(): Promise<void> {
    const { signal } = this.ended;
    const { sweepBatchSize } = this.deps.config;
    try {
      for (let ended = sweepBatchSize; ended === sweepBatchSize && !signal.aborted;) {
        ended = (await expireHolds(sweepBatchSize, undefined, this.deps)).length;
        if (ended > 0) this.deps.log.info({ holds: ended }, 'expired holds were ended at their last checkpoint');
      }
      const completed = await completeClaims(this.deps);
      if (completed > 0) this.deps.log.warn({ codes: completed }, 'deposits of redeemed codes that had been interrupted were completed');
    } catch (error) {
      this.deps.log.error({ err: error }, 'the search for expired holds and unfinished redemptions failed and will be retried');
    }
  }
}
