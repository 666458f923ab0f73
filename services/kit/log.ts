// The one kind of log line: JSON by pino, with the trace id of the active span and with secrets blanked.
import { isSpanContextValid, trace } from '@opentelemetry/api';
import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger };

/** Levels a process may be set to. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** A logger for a process. Lines go to standard output unless `destination` says otherwise. */
export function createLogger(options: { name: string; level: (typeof logLevels)[number] }, destination?: DestinationStream): Logger {
  return pino(
    {
      name: options.name,
      level: options.level,
      redact: {
        paths: ['secret', 'authorization', 'password', '*.secret', '*.authorization', '*.password', '*.apiKey', 'headers["x-api-key"]', 'headers.authorization'],
        censor: '[redacted]',
      },
      mixin() {
        const span = trace.getActiveSpan()?.spanContext();
        return span !== undefined && isSpanContextValid(span) ? { trace_id: span.traceId, span_id: span.spanId } : {};
      },
    },
    ...(destination === undefined ? [] : [destination]),
  ) as Logger;
}
