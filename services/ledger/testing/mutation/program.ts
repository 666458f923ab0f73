// Checks compiled ledgers one after another and prints the result of each on a line. Arguments: a folder and the name of a
// check, and so on.
import { pathToFileURL } from 'node:url';
import type { CheckName, checks } from './checks.js';

// The stacks of refusals are never read here.
Error.stackTraceLimit = 0;

const args = process.argv.slice(2);
for (let index = 0; index < args.length; index += 2) {
  const folder = args[index]!;
  const module = (await import(pathToFileURL(`${folder}/testing/mutation/checks.js`).href)) as { checks: typeof checks };
  const fault = await module.checks[args[index + 1] as CheckName]().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  process.stdout.write(`${JSON.stringify({ folder, fault })}\n`);
}
