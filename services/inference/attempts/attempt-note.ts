// What is told of an attempt that failed before its first event.
import type { Clock } from '#kit/clock.js';
import { toAppError } from '#client/errors/app-error.js';
import type { GenerateResponse, Target } from '#proto/inference/v1/inference.js';
import type { ResponseHead } from '../upstreams/upstream.js';

/** One attempt, from now on. */
export class AttemptNote {
  readonly #beganAtMs: number;
  #head: ResponseHead | undefined;

  /** `cameAtMs` is when the request came, on the clock that goes on evenly. */
  constructor(
    private readonly target: Target,
    private readonly cameAtMs: number,
    private readonly clock: Clock,
  ) {
    this.#beganAtMs = clock.monotonicMs();
  }

  /** Keeps what the upstream's response begins with. */
  readonly onResponse = (head: ResponseHead): void => {
    this.#head = head;
  };

  /** The message that tells of its failure, and of what is tried now. Why it failed is told by its reason alone, for callers may see it. */
  failed(error: unknown, next: Target | undefined): GenerateResponse {
    const failedAttempt = {
      target: this.target,
      offsetMs: Math.trunc(this.#beganAtMs - this.cameAtMs),
      durationMs: Math.trunc(this.clock.monotonicMs() - this.#beganAtMs),
      reason: toAppError(error).reason,
      httpStatus: this.#head?.status ?? 0,
      upstreamRequestId: this.#head?.requestId ?? '',
      ...(next === undefined ? {} : { next }),
    };
    return { events: [], usageSoFar: undefined, failedAttempt };
  }
}
