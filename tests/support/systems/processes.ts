// Finds and kills single processes of a distributed Tollgate.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './process.js';
import type { System } from './system.js';

/** The processes of a distributed system. */
export type ProcessName = 'auth' | 'catalog' | 'ledger' | 'metering' | 'inference' | 'gateway' | 'mariadb' | 'redis';

/** Returns the current pids by name. */
export function pidsOf(system: System): Record<ProcessName, number> {
  return (JSON.parse(readFileSync(join(system.dataDir, 'processes.json'), 'utf8')) as { pids: Record<ProcessName, number> }).pids;
}

/** Sends SIGKILL to a process. Returns a function that waits until the process has been restarted. */
export function killOne(system: System, name: ProcessName): () => Promise<void> {
  const pid = pidsOf(system)[name];
  process.kill(pid, 'SIGKILL');
  return async () => {
    // Tests read from this instant which calls were made during the outage.
    await eventually(() => (pidsOf(system)[name] === pid ? undefined : true), 20_000, 25);
  };
}

/** Returns when a service or the gateway became ready after this instant, according to its log, or undefined if it has not yet. */
export function startedSince(system: System, name: ProcessName, sinceMs: number): number | undefined {
  const lines = readFileSync(join(system.dataDir, 'logs', `${name}.log`), 'utf8').split('\n');
  const line = lines.findLast((each) => each.includes('"msg":"started"'));
  if (line === undefined) return undefined;
  const startedAtMs = Date.parse((JSON.parse(line) as { time: string }).time);
  return startedAtMs > sinceMs ? startedAtMs : undefined;
}
