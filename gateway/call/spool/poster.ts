// Posts what waits in the spool, a round at a time: many at once while metering answers, a single probe now and then while it does not.
import { setTimeout as pause } from 'node:timers/promises';
import { hasReason, toAppError } from '#client/errors/app-error.js';

/** Posts under way at once. */
const concurrency = 32;
const pauseMsMin = 50;
const pauseMsMax = 1000;

/** What became of a post. A failed one is tried again, a refused one would be refused again. */
export type PostOutcome =
  | { readonly kind: 'posted' }
  /** `isAway`: metering did not answer; else the report itself may be at fault. */
  | { readonly kind: 'failed'; readonly isAway: boolean }
  | { readonly kind: 'refused'; readonly reason: string };

/** What a poster works with. */
export interface PosterDeps<Item> {
  /** At most `count` items that wait, the first ones first. */
  next(count: number): readonly Item[];
  post(item: Item): Promise<void>;
  /** Notes what became of an item. One that it raises for waits on. */
  settle(item: Item, outcome: PostOutcome): Promise<void>;
}

/** One loop that posts from `start` to `stop`. */
export class Poster<Item> {
  private readonly stopping = new AbortController();
  private loop: Promise<void> = Promise.resolve();
  private onWake: (() => void) | undefined;

  constructor(private readonly deps: PosterDeps<Item>) {}

  start(): void {
    this.loop = this.run();
  }

  /** There is something to post. */
  wake(): void {
    this.onWake?.();
  }

  /** Ends after the round under way. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake();
    await this.loop;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    let pauseMs = 0;
    let isAway = false;
    while (!signal.aborted) {
      const round = this.deps.next(isAway ? 1 : concurrency);
      if (round.length === 0) {
        await new Promise<void>((resolve) => (this.onWake = resolve));
        this.onWake = undefined;
        continue;
      }
      const outcomes = await Promise.all(round.map((item) => this.post(item)));
      isAway = outcomes.every((outcome) => outcome.kind === 'failed' && outcome.isAway);
      pauseMs = outcomes.some((outcome) => outcome.kind !== 'failed') ? 0 : Math.min(pauseMsMax, Math.max(pauseMsMin, pauseMs * 2));
      if (pauseMs > 0) await pause(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private async post(item: Item): Promise<PostOutcome> {
    const outcome = await this.outcomeOf(item);
    return this.deps.settle(item, outcome).then(
      () => outcome,
      () => ({ kind: 'failed', isAway: false }),
    );
  }

  private async outcomeOf(item: Item): Promise<PostOutcome> {
    try {
      await this.deps.post(item);
      return { kind: 'posted' };
    } catch (error) {
      return isRefusal(error) ? { kind: 'refused', reason: toAppError(error).reason } : { kind: 'failed', isAway: isMeteringAway(error) };
    }
  }
}

/** Whether the error means that metering did not answer, rather than that it could not store this report. */
export function isMeteringAway(error: unknown): boolean {
  return hasReason(error, 'service_unavailable', 'deadline_exceeded', 'overloaded', 'cancelled');
}

/** Whether a repeat would get the same answer. Everything else is tried again, since a record is stored once however often it is sent. */
export function isRefusal(error: unknown): boolean {
  return hasReason(error, 'invalid_request', 'call_closed', 'idempotency_mismatch');
}
