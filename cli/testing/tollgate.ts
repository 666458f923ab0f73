// Runs the CLI in this process against a fake gateway, for tests.
import { run } from '../program.js';
import { type FakeGateway, testNowMs } from './fake-gateway.js';

/** The result of a run. */
export interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The input of a run besides its arguments. */
export interface RunOptions {
  /** Replaces the environment that finds the gateway. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** The input at the prompt for a secret; absent: there is no terminal. */
  readonly typed?: string;
  /** Whether the user presses Ctrl-C during an operation whose outcome is then unknown. */
  readonly isInterrupted?: boolean;
}

/** Runs `tollgate` with these arguments. */
export async function tollgate(gateway: Pick<FakeGateway, 'env'>, args: readonly string[], options: RunOptions = {}): Promise<Result> {
  let stdout = '';
  let stderr = '';
  const code = await run(args, {
    env: options.env ?? gateway.env,
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
    readStdin: () => Promise.resolve(options.stdin ?? ''),
    askSecret: () => Promise.resolve(options.typed),
    onInterrupt: (work) => {
      if (options.isInterrupted === true) work();
      return () => undefined;
    },
    nowMs: () => testNowMs,
    version: '1.2.3',
  });
  return { code, stdout, stderr };
}

/** Runs it with --json and returns the objects that it printed, one per line. Throws when it failed. */
export async function tollgateJson(
  gateway: Pick<FakeGateway, 'env'>,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Record<string, unknown>[]> {
  const result = await tollgate(gateway, [...args, '--json'], options);
  if (result.code !== 0) throw new Error(`tollgate ${args.join(' ')} ended with ${result.code}: ${result.stderr}`);
  return jsonLines(result.stdout);
}

/** Returns the objects in JSON lines. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
