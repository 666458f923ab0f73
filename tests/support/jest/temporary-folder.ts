// Keeps the temporary files of tests in memory, where there is enough: MariaDB syncs each table that it creates, and creates thousands in a run.
// No test depends on what a disk keeps when the power fails.
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';

const memory = '/dev/shm/';
/** Eight times what a run needs at one time. */
const bytesMin = 8 * 2 ** 30;

/** Sets TMPDIR, unless it is set, to a new folder that is removed when this process exits, also if it is interrupted. */
export function useMemory(): void {
  if (process.env['TMPDIR'] !== undefined || !existsSync(memory) || freeBytes() < bytesMin) return;
  const folder = mkdtempSync(`${memory}tollgate-tests-`);
  // As for /tmp: MariaDB runs as another user if the tests run as root.
  chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  for (const [signal, number] of Object.entries({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }))
    process.once(signal, () => process.exit(128 + number));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
}

function freeBytes(): number {
  const { bavail, bsize } = statfsSync(memory);
  return Math.min(bavail * bsize, process.availableMemory());
}
