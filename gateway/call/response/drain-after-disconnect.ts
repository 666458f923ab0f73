// Keeps reading an answer for a short time after its client has disconnected, so that the upstream's own usage figures are known if it sends
// any: they come at the end of an answer. Limited in time, tokens and calls, because the caller pays for what is read.
import type { GatewayConfig } from '../../config.js';

/** An answer that may be drained. */
export interface Readable {
  /** Reports whether the upstream's figures are worth waiting for: it accepted the call, or may send its status line with the whole answer. */
  readonly isExpected: boolean;
  /** Returns the output tokens read so far, delivered or not. */
  readonly outputTokensRead: number;
  /** Notes that the client disconnected. */
  noteDisconnect(): void;
}

/** Controls the reading of one answer. */
export interface Reading {
  /** Aborts when the drain must end. */
  readonly signal: AbortSignal;
  /** Must be called after each message. */
  noteProgress(): void;
  /** Must be called when no upstream is at work on the answer: none is called for a client that disconnected. */
  noteIdle(): void;
  /** Ends the reading for another reason. */
  abort(reason: unknown): void;
  end(): void;
}

/** Drains the answers of one gateway after disconnects. */
export class DisconnectDrain {
  readonly #stops = new Set<() => void>();
  #isClosed = false;

  constructor(private readonly config: Pick<GatewayConfig, 'readOnTimeMs' | 'readOnTokensMax' | 'readOnCallsMax'>) {}

  /** Controls the reading of an answer until `end`. */
  watch(disconnected: AbortSignal, answer: Readable): Reading {
    const { readOnTimeMs, readOnTokensMax } = this.config;
    const over = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    let tokensMax = Number.POSITIVE_INFINITY;
    const stop = (): void => over.abort(disconnected.reason);
    const begin = (): void => {
      answer.noteDisconnect();
      if (!answer.isExpected || !this.#hasRoom()) return stop();
      tokensMax = answer.outputTokensRead + readOnTokensMax;
      this.#stops.add(stop);
      timer = setTimeout(stop, readOnTimeMs);
    };
    if (disconnected.aborted) begin();
    else disconnected.addEventListener('abort', begin, { once: true });
    return {
      signal: over.signal,
      noteProgress() {
        if (answer.outputTokensRead > tokensMax) stop();
      },
      noteIdle() {
        if (disconnected.aborted) stop();
      },
      abort: (reason) => over.abort(reason),
      end: () => {
        disconnected.removeEventListener('abort', begin);
        clearTimeout(timer);
        this.#stops.delete(stop);
      },
    };
  }

  /** Ends all draining permanently, because the gateway is about to stop. */
  close(): void {
    this.#isClosed = true;
    for (const stop of this.#stops) stop();
  }

  #hasRoom(): boolean {
    const { readOnTimeMs, readOnTokensMax, readOnCallsMax } = this.config;
    return !this.#isClosed && readOnTimeMs > 0 && readOnTokensMax > 0 && this.#stops.size < readOnCallsMax;
  }
}
