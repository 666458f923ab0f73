// Kills, pauses and restarts processes of a running Tollgate, and measures how long it takes until calls are served again.
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, isAlive } from '../support/systems/process.js';
import { pidsOf, type ProcessName, startedSince } from '../support/systems/processes.js';
import type { System } from '../support/systems/system.js';

/** A process of the distributed mode, or all processes at once. */
export type Target = ProcessName | 'all';

/** A fault that was injected. */
export interface Fault {
  readonly what: 'kill' | 'stop' | 'restart';
  readonly target: Target;
  /** The system was killed as soon as an upstream was called, which may be before the hold of that call was durable. */
  readonly isAtCall?: boolean;
  readonly atMs: number;
  /** Time from the fault until calls could be served again; for a pause, from its end. */
  servingAfterMs?: number;
}

/** Injects faults and records them. */
export interface Faults {
  readonly done: readonly Fault[];
  /** Sends SIGKILL. Resolves when the system serves again, or immediately if not told to wait (`untilServing` waits then). */
  kill(target: Target): Promise<void>;
  /** Does the same to the whole system as soon as the next call reaches its upstream. */
  killAtCall(): Promise<void>;
  /** Sends SIGSTOP, and SIGCONT after this time. */
  stop(target: Target, forMs: number): Promise<void>;
  /** Sends SIGTERM to the database, which then shuts down as when an operator restarts it. */
  restartDatabase(): Promise<void>;
  /** Waits until every process runs and the gateway is ready. */
  untilServing(): Promise<void>;
}

/** The processes of a distributed system. */
export const processNames: readonly ProcessName[] = ['auth', 'catalog', 'ledger', 'metering', 'inference', 'gateway', 'mariadb'];

// Generous, because a busy machine can be slow.
const servingMsMax = 90_000;

/** Returns the faults of this system. `nextCall` resolves as soon as its upstream is called. */
export function createFaults(system: System, nextCall: () => Promise<void>): Faults {
  const done: Fault[] = [];
  const isDistributed = system.mode === 'distributed';

  const pidOf = (target: Target): number => (target === 'all' ? system.pid() : pidsOf(system)[target]);

  const ending = new Set<number>();

  /** Sends a signal to a process, once there is one that has not ended. */
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
    // MariaDB is ready by the time its pid is recorded.
    if (target !== 'mariadb') await eventually(() => startedSince(system, target, sinceMs), servingMsMax);
  }

  async function untilReady(): Promise<void> {
    await eventually(async () => {
      const response = await fetch(`${system.baseUrl}/readyz`, { signal: AbortSignal.timeout(2000) });
      if (response.status === 200) return true;
      throw new Error(`Not ready: ${await response.text()}`);
    }, servingMsMax);
  }

  async function ended(what: 'kill' | 'restart', target: Target, isAtCall = false): Promise<void> {
    if (isAtCall) await nextCall();
    const fault: Fault = { what, target, isAtCall, atMs: Date.now() };
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
    killAtCall: () => ended('kill', 'all', true),
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
