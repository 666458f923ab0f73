// The end of a log, for the message about a process that failed.
import { readFileSync } from 'node:fs';

const linesShownMax = 8;

/** Returns the last lines of a log. */
export function lastLines(path: string): string {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-linesShownMax).join('\n');
}
