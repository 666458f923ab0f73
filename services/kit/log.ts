// Logging: JSON lines by pino, with the trace id of the active span and with secrets redacted. Levels are words and times are ISO 8601 in UTC.
import { fstatSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { isSpanContextValid, trace } from '@opentelemetry/api';
import { pino, type DestinationStream, type Logger, stdSerializers, stdTimeFunctions } from 'pino';
import { afterAbout } from './scheduling/shared-timers.js';

export type { Logger };

/** The levels that a process can be set to. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** One of the log levels. */
export type LogLevel = (typeof logLevels)[number];

/** Receives every line that is written to standard output. */
let forward: ((line: string) => void) | undefined;

/** Passes every line that this thread writes to standard output to `receive` too. Returns a function that stops this. */
export function forwardLines(receive: (line: string) => void): () => void {
  forward = receive;
  return () => (forward = undefined);
}

/** Maximum buffer for lines while the reader of standard output does not keep up; further lines are dropped. */
const waitingBytesMax = 8 * 1024 * 1024;
/** The kernel writes this much to a pipe in one piece (PIPE_BUF), so that lines of several threads, or the last lines of a process, are not mixed. */
const pipeBytesMax = 4096;
/** A file takes any write in one piece. */
const fileBytesMax = 65_536;
/** How long a line waits for others: each write takes a thread of Node's pool, which costs ten times as much as the line. */
const waitMsMax = 250;
/** Lines from this level on are written immediately. */
const urgentLevel = pino.levels.values['warn']!;
/** When the process ends, it waits for a stalled reader of standard output at most this many times, 100 ms each (sonic-boom). */
const flushRetriesMax = 10;
/** When a thread ends, it leaves the pool this much time for the lines that it is writing: Node cancels what the pool has not begun. */
const handedOverMsMax = 50;

/** Returns standard output as a destination that never blocks the process: a slow or closed reader loses log lines, but delays no call. */
function standardOutput(): DestinationStream {
  const bytesMax = fstatSync(1).isFile() ? fileBytesMax : pipeBytesMax;
  let retriesLeft = Number.POSITIVE_INFINITY;
  let waiting = '';
  let isWriting = false;
  let cancelWait = (): void => {};
  const pass = (): void => {
    cancelWait();
    const lines = waiting;
    waiting = '';
    if (lines === '') return;
    isWriting = true;
    destination.write(lines);
  };
  // Both run before pino's own listeners, which write the remaining lines and would wait forever for a reader that has stalled.
  process.once('beforeExit', pass);
  process.once('exit', () => {
    retriesLeft = flushRetriesMax;
    pass();
    // Pino has listeners only in the main thread.
    if (!isMainThread) writeRest();
  });
  const destination = pino.destination({
    dest: 1,
    sync: false,
    maxLength: waitingBytesMax,
    maxWrite: bytesMax,
    retryEAGAIN: () => (retriesLeft -= 1) >= 0,
  });
  destination.on('drain', () => (isWriting = false));
  const writeRest = (): void => {
    if (isWriting) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, handedOverMsMax);
    try {
      destination.flushSync();
    } catch {
      // The reader has stalled, or has closed the pipe.
    }
  };
  // A closed pipe is not a reason to stop serving.
  destination.on('error', () => undefined);
  return {
    // Makes pino set the level of each line (getpino.io, "DestinationStream").
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      if (waiting.length + line.length > bytesMax) pass();
      if (waiting === '') cancelWait = afterAbout(waitMsMax, pass);
      waiting += line;
      forward?.(line);
      if (this.lastLevel >= urgentLevel) pass();
    },
  } as DestinationStream & { lastLevel: number };
}

/**
 * Returns an error as pino writes it, without the statement that mysql2 adds with all bound values: those are customers' data. Pino joins the messages of
 * causes with colons, also those that end with a full stop.
 */
function writtenError(error: Error): unknown {
  const written: unknown = stdSerializers.err(error);
  if (typeof written !== 'object' || written === null) return written;
  const { sql: _sql, sqlMessage: _sqlMessage, message, stack, ...rest } = written as Record<string, unknown>;
  return {
    ...rest,
    message: typeof message === 'string' ? withoutEmptyParts(message.replaceAll('.: ', ': ')) : message,
    stack: withoutEmptyParts(stack),
  };
}

/** Returns the text without the parts of a message of grpc-js that have no value (grpc-js 1.14, load-balancer-pick-first.js). */
function withoutEmptyParts(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  return text.replaceAll(/ Last error: null\.| Resolution note: ?$/gm, '');
}

/** Returns a logger for a process. Lines go to standard output unless `destination` is given. */
export function createLogger(options: { name: string; level: LogLevel }, destination: DestinationStream = standardOutput()): Logger {
  return pino(
    {
      name: options.name,
      level: options.level,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: stdTimeFunctions.isoTime,
      serializers: { err: writtenError },
      redact: {
        paths: [
          'secret',
          'authorization',
          'password',
          '*.secret',
          '*.authorization',
          '*.password',
          '*.apiKey',
          'headers["x-api-key"]',
          'headers.authorization',
        ],
        censor: '[redacted]',
      },
      mixin() {
        const span = trace.getActiveSpan()?.spanContext();
        return span !== undefined && isSpanContextValid(span) ? { trace_id: span.traceId, span_id: span.spanId } : {};
      },
    },
    destination,
  ) as Logger;
}
