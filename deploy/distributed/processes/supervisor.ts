// Supervises the launcher's child processes: each has its own environment and log file, and is restarted if it exits unexpectedly.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Part } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import { lastLines } from './last-lines.js';

/** Describes a process to supervise. */
export interface ProcessSpec {
  /** For example "ledger". */
  readonly name: string;
  /** Path of the built script. */
  readonly script: string;
  /** Returns its whole environment, except for PATH; called at every start. */
  env(): Readonly<Record<string, string>>;
  /** The file that its output is appended to. */
  readonly logPath: string;
  /** Delay before it is restarted after an unexpected exit. */
  readonly restartDelayMs: number;
  /** How long it may take to stop before it is killed. */
  readonly stopMsMax: number;
}

/** A supervised process. */
export interface Supervised extends Part {
  /** Returns the last lines of its log if it has exited with an error, otherwise undefined. */
  fault(): string | undefined;
}

/** Returns a supervised process as a part. Calls `onStart` with the new pid at every start. */
export function supervise(spec: ProcessSpec, log: Logger, onStart: (pid: number) => void): Supervised {
  let child: ChildProcess | undefined;
  let isStopping = false;
  let fault: string | undefined;

  function launch(): void {
    const out = openSync(spec.logPath, 'a', 0o600);
    try {
      // setpriv replaces itself with the process, and has the kernel terminate it when the launcher dies for any reason.
      child = spawn('setpriv', ['--pdeathsig=TERM', process.execPath, spec.script], {
        env: { PATH: process.env['PATH'], ...spec.env() },
        stdio: ['ignore', out, out],
        // A process group of its own, so that a terminal's Ctrl-C reaches only the launcher, which stops the processes one after the other.
        // If it reached all of them at once, calls in flight would lose the services that they need to complete.
        detached: true,
      });
    } finally {
      closeSync(out);
    }
    child.once('error', couldNotStart);
    child.once('exit', (code, signal) => {
      if (isStopping) return;
      if (code !== null && code !== 0) fault = lastLines(spec.logPath);
      log.error({ process: spec.name, code, signal, log: spec.logPath }, 'process exited unexpectedly; restarting it');
      launchLater();
    });
    if (child.pid !== undefined) onStart(child.pid);
  }

  /** The system may have no memory, processes or file descriptors left for a moment. */
  function couldNotStart(error: unknown): void {
    log.error({ err: error, process: spec.name }, 'process could not be started; trying again');
    launchLater();
  }

  function launchLater(): void {
    setTimeout(() => {
      if (isStopping) return;
      try {
        launch();
      } catch (error) {
        couldNotStart(error);
      }
    }, spec.restartDelayMs);
  }

  return {
    name: spec.name,
    fault: () => fault,
    async start() {
      launch();
    },
    async stop() {
      isStopping = true;
      const stopping = child;
      if (stopping?.pid === undefined || stopping.exitCode !== null || stopping.signalCode !== null) return;
      const ended = new Promise((resolve) => stopping.once('exit', resolve));
      stopping.kill('SIGTERM');
      const timer = setTimeout(() => stopping.kill('SIGKILL'), spec.stopMsMax);
      await ended;
      clearTimeout(timer);
    },
  };
}
