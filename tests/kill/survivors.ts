// Inspects the processes after a run: their memory, their open files, and whether any crashed by itself.
import { readdirSync, readFileSync } from 'node:fs';
import { pidsOf } from '../support/systems/processes.js';
import type { System } from '../support/systems/system.js';

/** The resources of a process, as reported by the kernel. */
export interface Footprint {
  readonly name: string;
  readonly residentBytes: number;
  readonly openFiles: number;
}

/** Returns every process of the system except MariaDB, which runs as another user. */
export function footprints(system: System): Footprint[] {
  const pids: Record<string, number> = system.mode === 'single' ? { single: system.pid() } : { launcher: system.pid(), ...pidsOf(system) };
  return Object.entries(pids)
    .filter(([name]) => name !== 'mariadb')
    .map(([name, pid]) => {
      const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      return { name, residentBytes: Number(resident) * 1024, openFiles: readdirSync(`/proc/${pid}/fd`).length };
    });
}

/** Returns the lines of the launcher's log about processes that exited with an error code; killed processes have none. */
export function ownFaults(output: string): string[] {
  return output
    .split('\n')
    .filter((line) => line.includes('exited unexpectedly'))
    .map((line) => JSON.parse(line) as { process?: string; code: number | null; signal: string | null; msg: string })
    .filter(({ code }) => code !== null && code !== 0)
    .map(({ process: name = 'mariadb', code, signal, msg }) => `${name}: ${msg} (code ${code}, signal ${signal})`);
}
