// Reads an answer on for a little while after its caller has left, so that the upstream's own figures are known where it gives
// any: they come with the end of an answer. Bounded in time, in tokens and in calls, for the caller pays for what is read.
import type { GatewayConfig } from '../config.js';

/** An answer that may be read on. */
export interface Readable {
  /** Whether the model has begun to answer; a call for which it had not is free, so nothing is to be known. */
  readonly hasStarted: boolean;
  /** Output tokens read up to now, delivered or not. */
  readonly outputTokensRead: number;
  /** Notes that the client disconnected. */
  leave(): void;
}

/** The reading of one answer. */
export interface Reading {
  /** Aborts when nothing more shall be read. */
  readonly signal: AbortSignal;
  /** To be called after each message. */
  noteProgress(): void;
  end(): void;
}

/** The calls that are read on, all of one gateway. */
export class ReadOn {
  readonly #stops = new Set<() => void>();
  #isClosed = false;

  constructor(private readonly config: Pick<GatewayConfig, 'readOnTimeMs' | 'readOnTokensMax' | 'readOnCallsMax'>) {}

  /** Watches over the reading of an answer until `end`. */
  watch(left: AbortSignal, answer: Readable): Reading {
    const { readOnTimeMs, readOnTokensMax } = this.config;
    const over = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    let tokensMax = Number.POSITIVE_INFINITY;
    const stop = (): void => over.abort(left.reason);
    const leave = (): void => {
      answer.leave();
      if (!answer.hasStarted || !this.#hasRoom()) return stop();
      tokensMax = answer.outputTokensRead + readOnTokensMax;
      this.#stops.add(stop);
      timer = setTimeout(stop, readOnTimeMs);
    };
    if (left.aborted) leave();
    else left.addEventListener('abort', leave, { once: true });
    return {
      signal: over.signal,
      noteProgress() {
        if (answer.outputTokensRead > tokensMax) stop();
      },
      end: () => {
        left.removeEventListener('abort', leave);
        clearTimeout(timer);
        this.#stops.delete(stop);
      },
    };
  }

  /** Ends all reading on, and begins none again: the gateway is about to stop. */
  close(): void {
    this.#isClosed = true;
    for (const stop of this.#stops) stop();
  }

  #hasRoom(): boolean {
    const { readOnTimeMs, readOnTokensMax, readOnCallsMax } = this.config;
    return !this.#isClosed && readOnTimeMs > 0 && readOnTokensMax > 0 && this.#stops.size < readOnCallsMax;
  }
}
