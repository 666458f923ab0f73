// Logging: JSON lines by pino, with the trace id of the active span and with secrets redacted.
import { isSpanContextValid, trace } from '@opentelemetry/api';
import { pino, type DestinationStream, type Logger, stdSerializers } from 'pino';

export type { Logger };

/** The levels that a process can be set to. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Maximum buffer for lines while the reader of standard output does not keep up; further lines are dropped. */
const waitingBytesMax = 8 * 1024 * 1024;
/** The kernel writes this much to a pipe in one piece (PIPE_BUF), so that lines of several threads are not mixed. */
const writtenBytesMax = 4096;
/** When the process ends, a reader that has stalled is waited for in steps of 100 ms (sonic-boom), this many times. */
const flushRetriesMax = 10;

/** Standard output, written without ever blocking the process: a reader that is slow or gone loses log lines, not calls. */
function standardOutput(): DestinationStream {
  let retriesLeft = Number.POSITIVE_INFINITY;
  // Runs before pino's own listener, which writes the remaining lines and would wait forever for a reader that has stalled.
  process.once('exit', () => (retriesLeft = flushRetriesMax));
  const destination = pino.destination({
    dest: 1,
    sync: false,
    maxLength: waitingBytesMax,
    maxWrite: writtenBytesMax,
    retryEAGAIN: () => (retriesLeft -= 1) >= 0,
  });
  // A closed pipe is not a reason to stop serving.
  destination.on('error', () => undefined);
  return destination;
}

/** Returns an error as pino writes it, without the statement that mysql2 adds with all bound values: those are customers' data. */
function withoutStatement(error: Error): unknown {
  const written: unknown = stdSerializers.err(error);
  if (typeof written !== 'object' || written === null) return written;
  const { sql: _sql, sqlMessage: _sqlMessage, ...rest } = written as Record<string, unknown>;
  return rest;
}

/** Returns a logger for a process. Lines go to standard output unless `destination` is given. */
export function createLogger(
  options: { name: string; level: (typeof logLevels)[number] },
  destination: DestinationStream = standardOutput(),
): Logger {
  return pino(
    {
      name: options.name,
      level: options.level,
      serializers: { err: withoutStatement },
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
