// Reports an attempt that failed.
import type { Clock } from '#kit/clock.js';
import { toAppError } from '#client/errors/app-error.js';
import type { FailedAttempt, GenerateResponse, Target } from '#proto/inference/v1/inference.js';
import type { ResponseHead } from '../upstreams/upstream.js';

/** Why the target of an attempt was chosen, and with which credential it was called. */
export type Chosen = Pick<FailedAttempt, 'choice' | 'credentialId'>;

/** Records one attempt, starting now. */
export class AttemptNote {
  readonly #beganAtMs: number;
  #head: ResponseHead | undefined;

  /** `arrivedAtMs` is when the request arrived, on the monotonic clock. */
  constructor(
    private readonly target: Target,
    private readonly arrivedAtMs: number,
    private readonly clock: Clock,
  ) {
    this.#beganAtMs = clock.monotonicMs();
  }

  /** Keeps the head of the upstream's response. */
  readonly onResponse = (head: ResponseHead): void => {
    this.#head = head;
  };

  /** The status of the upstream's response; undefined until it responds. */
  get status(): number | undefined {
    return this.#head?.status;
  }

  /** Reports whether the upstream responded. */
  get hasStatus(): boolean {
    return this.#head !== undefined;
  }

  /** When it started, relative to the arrival of the request. */
  get offsetMs(): number {
    return Math.trunc(this.#beganAtMs - this.arrivedAtMs);
  }

  /**
   * Returns the message that reports the failure and the target tried next, at `nextOffsetMs` if that was before the failure. It contains only the
   * reason of the error, because callers may see it.
   */
  failed(error: unknown, chosen: Chosen, next: Target | undefined, nextOffsetMs?: number): GenerateResponse {
    const failedAttempt = {
      target: this.target,
      offsetMs: this.offsetMs,
      durationMs: Math.trunc(this.clock.monotonicMs() - this.#beganAtMs),
      reason: toAppError(error).reason,
      httpStatus: this.#head?.status ?? 0,
      upstreamRequestId: this.#head?.requestId ?? '',
      droppedFields: [...(this.#head?.droppedFields ?? [])],
      ...chosen,
      ...(next === undefined ? {} : { next }),
      ...(nextOffsetMs === undefined ? {} : { nextOffsetMs }),
    };
    return { events: [], usageSoFar: undefined, failedAttempt };
  }
}
