// The file in the data folder with the pids of the launcher's processes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '#kit/log.js';

/** Returns a function that notes the pid of a process with this name. A file that cannot be written must not keep a process from running. */
export function processIds(dataDir: string, log: Pick<Logger, 'warn'>): (name: string) => (pid: number) => void {
  const pids: Record<string, number> = {};
  const path = join(dataDir, 'processes.json');
  return (name) => (pid) => {
    pids[name] = pid;
    try {
      writeFileSync(path, `${JSON.stringify({ pids }, null, 2)}\n`, { mode: 0o600 });
    } catch (error) {
      log.warn({ err: error, file: path }, 'the pids of the processes could not be written');
    }
  };
}
