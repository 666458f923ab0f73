// Child processes of the launcher: started with their own environment and log file, started again when they end unasked.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Part } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';

/** What to run. */
export interface ProcessSpec {
  /** "ledger". */
  readonly name: string;
  /** The script of the build. */
  readonly script: string;
  /** Its whole environment beside PATH, asked for at every start. */
  env(): Readonly<Record<string, string>>;
  /** Where its output goes, appended. */
  readonly logPath: string;
  /** How long after an end that nobody asked for it is started again. */
  readonly restartDelayMs: number;
  /** How long it may take to end when asked; then it is killed. */
  readonly stopMsMax: number;
}

/** A supervised process. */
export interface Supervised extends Part {
  /** The last lines of its log, once it has ended with an error of its own. */
  fault(): string | undefined;
}

const logLinesShownMax = 8;

/** A process as a part. `onStart` is called at every start, with the new pid. */
export function supervise(spec: ProcessSpec, log: Logger, onStart: (pid: number) => void): Supervised {
  let child: ChildProcess | undefined;
  let isStopping = false;
  let fault: string | undefined;

  function launch(): void {
    const out = openSync(spec.logPath, 'a', 0o600);
    // setpriv becomes the process itself, and has the kernel end it when the launcher dies in any way.
    const launched = spawn('setpriv', ['--pdeathsig=TERM', process.execPath, '--enable-source-maps', spec.script], {
      env: { PATH: process.env['PATH'], ...spec.env() },
      stdio: ['ignore', out, out],
      // In a process group of its own: a terminal's Ctrl-C reaches the launcher alone, which ends one process after the other. If it
      // reached all at once, calls in flight would lose the services that they need to end well.
      detached: true,
    });
    closeSync(out);
    child = launched;
    if (launched.pid !== undefined) onStart(launched.pid);
    launched.once('error', (error) => log.error({ err: error, process: spec.name }, 'could not be started'));
    launched.once('exit', (code, signal) => {
      if (isStopping) return;
      if (code !== null && code !== 0) fault = lastLines(spec.logPath);
      log.error({ process: spec.name, code, signal, log: spec.logPath }, 'ended unasked; starting it again');
      setTimeout(() => {
        if (!isStopping) launch();
      }, spec.restartDelayMs);
    });
  }

  return {
    name: spec.name,
    fault: () => fault,
    async start() {
      launch();
    },
    async stop() {
      isStopping = true;
      const ending = child;
      if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
      const ended = new Promise((resolve) => ending.once('exit', resolve));
      ending.kill('SIGTERM');
      const timer = setTimeout(() => ending.kill('SIGKILL'), spec.stopMsMax);
      await ended;
      clearTimeout(timer);
    },
  };
}

function lastLines(path: string): string {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-logLinesShownMax).join('\n');
}
