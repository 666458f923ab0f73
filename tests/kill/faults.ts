// What is done to a running Tollgate: processes killed, stopped for a while, or restarted, and how long it took them to serve again.
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, isAlive } from '../support/process.js';
import { pidsOf, type ProcessName, startedSince } from '../support/processes.js';
import type { System } from '../support/system.js';

/** A process of the distributed mode, or all that runs at once. */
export type Target = ProcessName | 'all';

/** A fault as it was done. */
export interface Fault {
  readonly what: 'kill' | 'stop' | 'restart';
  readonly target: Target;
  readonly atMs: number;
  /** From the fault until calls could be served again; of a stop from its end. */
  servingAfterMs?: number;
}

/** Does faults and remembers them. */
export interface Faults {
  readonly done: readonly Fault[];
  /** SIGKILL at once; resolves when the system serves again, or when it is not waited for (`untilServing` waits then). */
  kill(target: Target): Promise<void>;
  /** SIGSTOP, and SIGCONT after so long. */
  stop(target: Target, forMs: number): Promise<void>;
  /** SIGTERM to the database, which then ends as it would when an operator restarts it. */
  restartDatabase(): Promise<void>;
  /** Waits until every process runs and the gateway calls itself ready. */
  untilServing(): Promise<void>;
}

/** The processes of a distributed system. */
export const processNames: readonly ProcessName[] = ['auth', 'catalog', 'ledger', 'metering', 'inference', 'gateway', 'mariadb'];

// Patience with a busy machine; a system that does not come back at all takes longer than any patience.
const servingMsMax = 90_000;

/** Faults for this system. */
export function createFaults(system: System): Faults {
  const done: Fault[] = [];
  const isDistributed = system.mode === 'distributed';

  const pidOf = (target: Target): number => (target === 'all' ? system.pid() : pidsOf(system)[target]);

  const ending = new Set<number>();

  /** Sends a signal to a process, once there is one that is not ending already. */
  async function signal(target: Target, name: NodeJS.Signals): Promise<number> {
    return eventually(() => {
      const pid = pidOf(target);
      if (ending.has(pid) || !isAlive(pid)) return undefined;
      process.kill(pid, name);
      if (name !== 'SIGSTOP') ending.add(pid);
      return pid;
    }, servingMsMax);
  }

  async function untilSuccessor(target: ProcessName, pid: number, sinceMs: number): Promise<void> {
    await eventually(() => (pidOf(target) !== pid ? true : undefined), servingMsMax);
    // MariaDB answers by the time that its pid is noted.
    if (target !== 'mariadb') await eventually(() => startedSince(system, target, sinceMs), servingMsMax);
  }

  async function untilReady(): Promise<void> {
    await eventually(async () => {
      const response = await fetch(`${system.baseUrl}/readyz`, { signal: AbortSignal.timeout(2000) });
      if (response.status === 200) return true;
      throw new Error(`Not ready: ${await response.text()}`);
    }, servingMsMax);
  }

  async function ended(what: 'kill' | 'restart', target: Target): Promise<void> {
    const fault: Fault = { what, target, atMs: Date.now() };
    if (target === 'all') {
      done.push(fault);
      await system.kill();
      await system.start();
    } else {
      const pid = await signal(target, what === 'kill' ? 'SIGKILL' : 'SIGTERM');
      done.push(fault);
      await untilSuccessor(target, pid, fault.atMs);
      await untilReady();
    }
    fault.servingAfterMs = Date.now() - fault.atMs;
  }

  return {
    done,
    kill: (target) => ended('kill', target),
    restartDatabase: () => ended('restart', 'mariadb'),
    async stop(target, forMs) {
      const pid = await signal(target, 'SIGSTOP');
      const fault: Fault = { what: 'stop', target, atMs: Date.now() };
      done.push(fault);
      await sleep(forMs);
      // It may have been killed meanwhile.
      if (isAlive(pid)) process.kill(pid, 'SIGCONT');
      const resumedAtMs = Date.now();
      await untilReady();
      fault.servingAfterMs = Date.now() - resumedAtMs;
    },
    async untilServing() {
      if (isDistributed) await eventually(() => (Object.values(pidsOf(system)).every(isAlive) ? true : undefined), servingMsMax);
      await untilReady();
    },
  };
}
