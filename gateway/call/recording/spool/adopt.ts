// Moves the reports of gateways that no longer run into the folder of one that does: after a change of the number of threads.
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { lockFolder } from '#kit/db/sqlite/folder-lock.js';
import { spoolFilePattern } from './files.js';

/**
 * Moves the spool files in `folder`, and in those of its numbered folders that are not in `kept`, into `into`. Called before the spools start.
 * Raises failed_precondition when another process works with one of them.
 */
export function adoptSpools(folder: string, kept: readonly number[], into: string): void {
  if (!existsSync(folder)) return;
  const numbered = readdirSync(folder).filter((name) => /^\d{1,3}$/.test(name) && !kept.includes(Number(name)));
  const left = [folder, ...numbered.map((name) => join(folder, name))].filter((each) => each !== into);
  for (const from of left) {
    const names = readdirSync(from).filter((name) => spoolFilePattern.test(name));
    if (names.length === 0) continue;
    const unlock = lockFolder(from, 'TOLLGATE_GATEWAY_SPOOL_DIR');
    mkdirSync(into, { recursive: true, mode: 0o700 });
    try {
      for (const name of names) renameSync(join(from, name), join(into, freeName(into, name)));
    } finally {
      unlock();
    }
  }
}

/** Returns a name with the same instant that is not taken: two threads may have begun files in the same millisecond. */
function freeName(folder: string, name: string): string {
  const [startedAtMs, rest = ''] = name.split('-');
  for (let sequence = Number.parseInt(rest, 10); ; sequence += 1) {
    const free = `${startedAtMs}-${String(sequence).padStart(6, '0')}.spool`;
    if (!existsSync(join(folder, free))) return free;
  }
}
