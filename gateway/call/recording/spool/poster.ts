// Posts the waiting reports of the spool in rounds: many at once while metering answers, an occasional single probe while it does not.
import { setTimeout as pause } from 'node:timers/promises';
import { hasReason, toAppError } from '#client/errors/app-error.js';

/** Concurrent posts. */
const concurrency = 32;
const pauseMsMin = 50;
const pauseMsMax = 1000;

/** The result of a post. A failed one is retried; a rejected one would be rejected again. */
export type PostOutcome =
  | { readonly kind: 'posted' }
  /** `isUnavailable`: metering did not answer; otherwise the report itself may be at fault. */
  | { readonly kind: 'failed'; readonly isUnavailable: boolean }
  | { readonly kind: 'refused'; readonly reason: string };

/** The dependencies of a poster. */
export interface PosterDeps<Item> {
  /** Returns at most `count` waiting items, the oldest first. */
  next(count: number): readonly Item[];
  post(item: Item): Promise<void>;
  /** Processes the result of an item. If it throws, the item keeps waiting. */
  settle(item: Item, outcome: PostOutcome): Promise<void>;
}

/** A loop that posts from `start` to `stop`. */
export class Poster<Item> {
  private readonly stopping = new AbortController();
  private loop: Promise<void> = Promise.resolve();
  private onWake: (() => void) | undefined;

  constructor(private readonly deps: PosterDeps<Item>) {}

  start(): void {
    this.loop = this.run();
  }

  /** Signals that there is something to post. */
  wake(): void {
    this.onWake?.();
  }

  /** Ends after the current round. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake();
    await this.loop;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    let pauseMs = 0;
    let isUnavailable = false;
    while (!signal.aborted) {
      const round = this.deps.next(isUnavailable ? 1 : concurrency);
      if (round.length === 0) {
        await new Promise<void>((resolve) => (this.onWake = resolve));
        this.onWake = undefined;
        continue;
      }
      const outcomes = await Promise.all(round.map((item) => this.post(item)));
      isUnavailable = outcomes.every((outcome) => outcome.kind === 'failed' && outcome.isUnavailable);
      pauseMs = outcomes.some((outcome) => outcome.kind !== 'failed') ? 0 : Math.min(pauseMsMax, Math.max(pauseMsMin, pauseMs * 2));
      if (pauseMs > 0) await pause(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private async post(item: Item): Promise<PostOutcome> {
    const outcome = await this.outcomeOf(item);
    return this.deps.settle(item, outcome).then(
      () => outcome,
      () => ({ kind: 'failed', isUnavailable: false }),
    );
  }

  private async outcomeOf(item: Item): Promise<PostOutcome> {
    try {
      await this.deps.post(item);
      return { kind: 'posted' };
    } catch (error) {
      return isRefusal(error)
        ? { kind: 'refused', reason: toAppError(error).reason }
        : { kind: 'failed', isUnavailable: isMeteringUnavailable(error) };
    }
  }
}

/** Reports whether the error means that metering did not answer, rather than that it could not store this report. */
export function isMeteringUnavailable(error: unknown): boolean {
  return hasReason(error, 'service_unavailable', 'deadline_exceeded', 'overloaded', 'cancelled');
}

/** Reports whether a retry would get the same answer. Everything else is retried, because a record is stored once however often it is sent. */
export function isRefusal(error: unknown): boolean {
  return hasReason(error, 'invalid_request', 'call_closed', 'idempotency_mismatch');
}
