// Child processes of the end-to-end tests. They run the build, and the test that starts them stops them.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export { freePort } from './ports.js';

/** The root of the checkout. */
export const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The output that is kept of a process. The host of the operator's command prints more in a long campaign than fits into a string. */
const outputCharsMax = 64 * 1024 * 1024;

/** A started process and the last of its output. */
export interface Child {
  readonly process: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Sends a signal and waits for the exit. Returns the exit code, or null after a fatal signal. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Returns the environment of a child: ours without Tollgate and vendor settings, plus `env`. */
export function cleanEnv(env: Record<string, string>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(TOLLGATE_|OTEL_|OPENAI_|ANTHROPIC_|PORT$|NODE_OPTIONS$|JEST_)/.test(name));
  return { ...Object.fromEntries(own), ...env };
}

// No process outlives the run, even if a test fails.
const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Starts a script of the build with the Node that runs the tests. Unless `env` says otherwise, it stops without a lame-duck time. */
export function startScript(script: string, args: readonly string[], env: Record<string, string>): Child {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: root,
    env: cleanEnv({ TOLLGATE_LAME_DUCK: '0s', ...env }),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout = lastOf(stdout + chunk)));
  child.stderr.on('data', (chunk) => (stderr = lastOf(stderr + chunk)));
  child.stdin.on('error', () => undefined);
  return {
    process: child,
    stdout: () => stdout,
    stderr: () => stderr,
    end: (signal) =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve(child.exitCode);
        child.once('exit', (code) => resolve(code));
        child.kill(signal);
      }),
  };
}

function lastOf(output: string): string {
  return output.length > outputCharsMax ? output.slice(-outputCharsMax / 2) : output;
}

/** Reports whether a process with this pid runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Makes `eventually` fail immediately, because no later check can succeed. */
export class NeverWill extends Error {}

const pauseMsMin = 25;

/**
 * Waits until `check` returns something other than undefined. Throws its last error after the timeout, and a NeverWill immediately. The pause between
 * two checks is a tenth of the time waited so far, because many checks are whole commands; `pauseMsMax` limits it where the instant matters.
 */
export async function eventually<T>(check: () => Promise<T | undefined> | T | undefined, timeoutMs = 20_000, pauseMsMax = 250): Promise<T> {
  const beganAtMs = Date.now();
  let failure: unknown = new Error('The condition never became true.');
  while (Date.now() < beganAtMs + timeoutMs) {
    try {
      const value = await check();
      if (value !== undefined) return value;
    } catch (error) {
      if (error instanceof NeverWill) throw error;
      failure = error;
    }
    const waitedMs = Date.now() - beganAtMs;
    await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMsMax, Math.max(pauseMsMin, waitedMs / 10))));
  }
  throw failure;
}
