// Runs the built operator's command many times in one process, because starting Node takes longer than most commands. `command-runner.ts`
// starts this process, and sends one JSON line per run; the result is one JSON line too.
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

interface Run {
  readonly id: number;
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  readonly stdin: string;
}

interface World {
  env: Record<string, string>;
  stdout(chunk: string): void;
  stderr(chunk: string): void;
  readStdin(): Promise<string>;
  askSecret(): Promise<undefined>;
  onInterrupt(): () => void;
  nowMs(): number;
  version: string;
}

// Imported from a computed address, because the build output has no types.
const program = fileURLToPath(new URL('../../../dist/cli/program.js', import.meta.url));
const { run } = (await import(program)) as { run(args: readonly string[], world: World): Promise<number> };

for await (const line of createInterface({ input: process.stdin })) {
  const { id, args, env, stdin } = JSON.parse(line) as Run;
  const written = { stdout: '', stderr: '' };
  void run(args, {
    env,
    stdout: (chunk) => void (written.stdout += chunk),
    stderr: (chunk) => void (written.stderr += chunk),
    readStdin: async () => stdin,
    askSecret: async () => undefined,
    onInterrupt: () => () => undefined,
    nowMs: () => Date.now(),
    version: 'test',
  }).then((code) => process.stdout.write(`${JSON.stringify({ id, code, ...written })}\n`));
}
