// A private Redis for the rate limits that several gateways share: on a loopback port with a password of its own, in memory only. It is restarted if it exits
// unexpectedly, and ends with the process that started it.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import { findProgram } from './mariadb/programs.js';

/** Options of `superviseRedis`. */
export interface RedisOptions {
  /** Holds the log. */
  readonly folder: string;
  readonly port: number;
  readonly log: Pick<Logger, 'error'>;
  readonly restartDelayMs: number;
}

/** A Redis that is kept running from `start` to `stop`. */
export interface SupervisedRedis extends Part {
  /** The URL with the password, the same across restarts. */
  readonly url: string;
}

/** Returns a supervised Redis. Calls `onStart` with the new pid at every start. */
export function superviseRedis({ folder, port, log, restartDelayMs }: RedisOptions, onStart: (pid: number) => void): SupervisedRedis {
  const password = randomBytes(24).toString('hex');
  const stopping = new AbortController();
  let child: ChildProcess | undefined;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      // The system may be unable to start it for a moment.
      const cause = await runOnce().catch((error: unknown) => error);
      if (stopping.signal.aborted) return;
      log.error({ cause: String(cause) }, 'Redis exited unexpectedly; restarting it');
      await sleep(restartDelayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  /** Runs it until it ends, and returns why it has ended. */
  async function runOnce(): Promise<unknown> {
    const launched = launch(folder, port, password);
    child = launched;
    if (launched.pid !== undefined) onStart(launched.pid);
    return new Promise((resolve) => {
      launched.once('exit', (code, signal) => resolve(signal ?? `status ${code}`));
      launched.once('error', resolve);
    });
  }

  return {
    name: 'redis',
    // With a user, because redis-cli sends an empty one otherwise.
    url: `redis://default:${password}@127.0.0.1:${port}`,
    async start() {
      findProgram('redis-server');
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      // The gateway connects when it can.
      running = run();
    },
    async stop() {
      stopping.abort();
      child?.kill('SIGTERM');
      await running;
    },
  };
}

function launch(folder: string, port: number, password: string): ChildProcess {
  const logFile = openSync(join(folder, 'redis.log'), 'a', 0o600);
  // setpriv replaces itself with redis-server, and has the kernel terminate it when this process dies for any reason.
  const child = spawn(findProgram('setpriv'), ['--pdeathsig=TERM', findProgram('redis-server'), '-'], {
    cwd: folder,
    // A process group of its own, so that a terminal's Ctrl-C reaches only the process that started it, which then stops it.
    detached: true,
    stdio: ['pipe', logFile, logFile],
  });
  closeSync(logFile);
  // Passed on standard input, because every user of the machine can see the arguments of a process.
  const config = ['bind 127.0.0.1', `port ${port}`, `requirepass ${password}`, 'save ""', 'appendonly no', 'maxmemory 256mb'];
  child.stdin!.on('error', () => undefined);
  child.stdin!.end(`${config.join('\n')}\n`);
  return child;
}
