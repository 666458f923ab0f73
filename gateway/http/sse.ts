// Writes a stream of server-sent events at the pace of its reader.
import type { ServerResponse } from 'node:http';

/** A response that streams. */
export interface SseWriter {
  /** Whether the head is out: from then on errors are told in band. */
  hasBegun(): boolean;
  /** Sends frames; resolves when the reader is ready for more. Does nothing once the reader has left. */
  write(frames: string): Promise<void>;
  /** Ends the response after what was written. */
  end(): void;
}

/** Options of `createSseWriter`. */
export interface SseOptions {
  /** Sent with the first frame. */
  headers: Record<string, string>;
  /** Sent whenever nothing else was for `keepAliveIntervalMs`, once the stream has begun. */
  keepAlive: string;
  keepAliveIntervalMs: number;
  /** A reader that takes nothing for this long is cut off. */
  slowReaderTimeoutMs: number;
}

/** Takes over a response. The head goes out with the first frame, so that an error before it can still have its own status. */
export function createSseWriter(response: ServerResponse, options: SseOptions): SseWriter {
  let isIdle = true;
  let keepAliveTimer: NodeJS.Timeout | undefined;

  function begin(): void {
    response.writeHead(200, {
      ...options.headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    // Small frames must leave at once, not wait for the acknowledgement of the one before.
    response.socket?.setNoDelay(true);
    keepAliveTimer = setInterval(() => {
      if (isIdle && !response.writableNeedDrain && !response.destroyed) response.write(options.keepAlive);
      isIdle = true;
    }, options.keepAliveIntervalMs);
    keepAliveTimer.unref();
    response.once('close', () => clearInterval(keepAliveTimer));
  }

  return {
    hasBegun: () => response.headersSent,
    async write(frames) {
      if (frames === '' || response.destroyed) return;
      if (!response.headersSent) begin();
      isIdle = false;
      if (!response.write(frames)) await drained(response, options.slowReaderTimeoutMs);
    },
    end() {
      clearInterval(keepAliveTimer);
      if (!response.destroyed) response.end();
    },
  };
}

/** Resolves when the reader has caught up or left; cuts it off after `timeoutMs`. */
function drained(response: ServerResponse, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), timeoutMs);
    const done = (): void => {
      clearTimeout(timer);
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.once('drain', done);
    response.once('close', done);
  });
}
