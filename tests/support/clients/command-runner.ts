// The operator's command for tests: the same code as `tollgate`, in one process for all test files of a worker.
import { createInterface } from 'node:readline';
import { type Child, cleanEnv, startScript } from '../systems/process.js';

/** The result of a command. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let host: Child | undefined;
let runs = 0;
const waiting = new Map<number, (result: CommandResult) => void>();

/** Runs the command in a process that is started for the first command and ends with the test process. */
export function runCommand(args: readonly string[], env: Record<string, string>, stdin = ''): Promise<CommandResult> {
  const { process: child } = (host ??= startHost());
  const id = (runs += 1);
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    child.stdin!.write(`${JSON.stringify({ id, args, env: cleanEnv(env), stdin })}\n`);
  });
}

function startHost(): Child {
  const child = startScript('tests/support/clients/command-host.ts', [], {});
  createInterface({ input: child.process.stdout! }).on('line', (line) => {
    const { id, ...result } = JSON.parse(line) as CommandResult & { id: number };
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  child.process.once('close', (code) => {
    host = undefined;
    for (const resolve of waiting.values())
      resolve({ code, stdout: '', stderr: `The process that runs commands exited:\n${child.stderr()}` });
    waiting.clear();
  });
  return child;
}
