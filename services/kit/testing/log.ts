// Loggers for tests.
import { createLogger, type Logger } from '../log.js';

/** A logger that writes nothing. */
export const silentLog = createLogger({ name: 'test', level: 'silent' });

/** A log line as it would be printed. */
export type LogLine = Readonly<Record<string, unknown>>;

/** Returns a logger of this level and the lines it has written so far. */
export function recordingLogger(level: 'debug' | 'info' | 'warn' = 'info'): { log: Logger; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const log = createLogger({ name: 'test', level }, { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) });
  return { log, lines };
}
