// The end of a log, for the message about a process that failed.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const linesShownMax = 8;
const bytesReadMax = 64 * 1024;

/** Returns the last lines of a log; nothing if it cannot be read, for example because it was removed. */
export function lastLines(path: string): string {
  try {
    return endOf(path).trimEnd().split('\n').slice(-linesShownMax).join('\n');
  } catch {
    return '';
  }
}

function endOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const end = Buffer.alloc(Math.min(size, bytesReadMax));
    readSync(file, end, 0, end.length, size - end.length);
    return end.toString();
  } finally {
    closeSync(file);
  }
}
