// The processes of a distributed Tollgate, one by one.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './process.js';
import type { System } from './system.js';

/** What a distributed system consists of. */
export type ProcessName = 'auth' | 'catalog' | 'ledger' | 'metering' | 'inference' | 'gateway' | 'mariadb';

/** The pids of the present run, by name. */
export function pidsOf(system: System): Record<ProcessName, number> {
  return (JSON.parse(readFileSync(join(system.dataDir, 'processes.json'), 'utf8')) as { pids: Record<ProcessName, number> }).pids;
}

/** Kills a process without a warning; the function that it returns waits until its successor has been started. */
export function killOne(system: System, name: ProcessName): () => Promise<void> {
  const pid = pidsOf(system)[name];
  process.kill(pid, 'SIGKILL');
  return async () => {
    await eventually(() => (pidsOf(system)[name] === pid ? undefined : true));
  };
}

/** When a service or the gateway was ready to serve after this instant, by its own log; undefined when that is still to come. */
export function startedSince(system: System, name: ProcessName, sinceMs: number): number | undefined {
  const lines = readFileSync(join(system.dataDir, 'logs', `${name}.log`), 'utf8').split('\n');
  const line = lines.findLast((each) => each.includes('"msg":"started"'));
  const { time } = JSON.parse(line ?? '{"time":0}') as { time: number };
  return time > sinceMs ? time : undefined;
}
