// The background job that ends expired holds, and makes the deposits of codes whose claiming process died.
import { setTimeout as pause } from 'node:timers/promises';
import { completeClaims } from '../codes/redeem.js';
import type { RpcDeps } from '../deps.js';
import { expireHolds } from './expire.js';

/** Ends expired holds periodically until it is stopped. */
export class Sweeper {
  private readonly ended = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(private readonly deps: RpcDeps) {}

  start(): void {
    this.loop ??= this.run();
  }

  /** Waits for the sweep in progress. */
  async stop(): Promise<void> {
    this.ended.abort();
    await this.loop;
  }

  private async run(): Promise<void> {
    const { signal } = this.ended;
    const { sweepIntervalMs } = this.deps.config;
    while (!signal.aborted) {
      await this.sweep(signal);
      await pause(sweepIntervalMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Sweeps once, or repeatedly while batches are full, as after an outage. */
  private async sweep(signal: AbortSignal): Promise<void> {
    const { sweepBatchSize } = this.deps.config;
    try {
      for (let ended = sweepBatchSize; ended === sweepBatchSize && !signal.aborted;) {
        ended = (await expireHolds(sweepBatchSize, undefined, this.deps)).length;
        if (ended > 0) this.deps.log.info({ holds: ended }, 'expired holds were ended at their last checkpoint');
      }
      const completed = await completeClaims(this.deps);
      if (completed > 0) this.deps.log.warn({ codes: completed }, 'redeemed codes whose deposit had not been made were deposited');
    } catch (error) {
      this.deps.log.error({ err: error }, 'the search for expired holds and unfinished redemptions failed and will be retried');
    }
  }
}
