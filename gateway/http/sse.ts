// Writes a stream of server-sent events at the pace at which the client reads.
import type { ServerResponse } from 'node:http';

/** A response that streams. */
export interface SseWriter {
  /** Whether the response head has been sent: from then on errors are sent in band. */
  hasBegun(): boolean;
  /** Sends frames; resolves when the client is ready for more. Does nothing once the client has disconnected. */
  write(frames: string): Promise<void>;
  /** Ends the response after the frames written so far. */
  end(): void;
}

/** Options of `createSseWriter`. */
export interface SseOptions {
  /** Sent with the first frame. */
  headers: Record<string, string>;
  /** Sent whenever nothing else was sent for `keepAliveIntervalMs`, once the stream has begun. */
  keepAlive: string;
  keepAliveIntervalMs: number;
  /** A client that reads nothing for this long is disconnected. */
  slowReaderTimeoutMs: number;
}

/** Takes over a response. The head is sent with the first frame, so that an earlier error can still have its own status. */
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
    // Small frames must be sent immediately, without waiting for the acknowledgement of the previous one.
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

/** Resolves when the client has caught up or disconnected. */
function drained(response: ServerResponse, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    // The server closes a connection whose timeout ends. Every read by the client restarts it, however much is still to be read.
    response.setTimeout(timeoutMs);
    const done = (): void => {
      response.setTimeout(0);
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.once('drain', done);
    response.once('close', done);
  });
}
