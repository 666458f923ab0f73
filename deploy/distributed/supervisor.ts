// Child processes of the launcher: started with their own environment and log file, started again when they end unasked.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Part } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';

/** What to run. */
export interface ProcessSpec {
  /** "ledger". */
  readonly name: string;
  /** The script of the build. */
  readonly script: string;
  /** Its whole environment beside PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** Where its output goes, appended. */
  readonly logPath: string;
}

/** A supervised process. */
export interface Supervised extends Part {
  /** Of the present run; undefined between two runs. */
  pid(): number | undefined;
}

// Long enough not to spin on a process that cannot start, short enough that a killed one is hardly missed.
const restartMs = 300;
// Longer than the processes' own time for draining.
const stopMsMax = 40_000;

/** A process as a part. `onStart` is called at every start, with the new pid. */
export function supervise(spec: ProcessSpec, log: Logger, onStart: (pid: number) => void): Supervised {
  let child: ChildProcess | undefined;
  let isStopping = false;

  function launch(): void {
    const out = openSync(spec.logPath, 'a', 0o600);
    // setpriv becomes the process itself, and has the kernel end it when the launcher dies in any way.
    const launched = spawn('setpriv', ['--pdeathsig=TERM', process.execPath, '--enable-source-maps', spec.script], {
      env: { PATH: process.env['PATH'], ...spec.env },
      stdio: ['ignore', out, out],
    });
    closeSync(out);
    child = launched;
    if (launched.pid !== undefined) onStart(launched.pid);
    launched.once('error', (error) => log.error({ err: error, process: spec.name }, 'could not be started'));
    launched.once('exit', (code, signal) => {
      if (isStopping) return;
      log.error({ process: spec.name, code, signal, log: spec.logPath }, 'ended unasked; starting it again');
      setTimeout(() => {
        if (!isStopping) launch();
      }, restartMs);
    });
  }

  return {
    name: spec.name,
    pid: () => (child?.exitCode === null && child.signalCode === null ? child.pid : undefined),
    async start() {
      launch();
    },
    async stop() {
      isStopping = true;
      const ending = child;
      if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
      const ended = new Promise((resolve) => ending.once('exit', resolve));
      ending.kill('SIGTERM');
      const timer = setTimeout(() => ending.kill('SIGKILL'), stopMsMax);
      await ended;
      clearTimeout(timer);
    },
  };
}
