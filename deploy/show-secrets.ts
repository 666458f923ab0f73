// How the secrets of the first start reach the operator: printed on a terminal; else each in a file of its own that only its owner can
// read, so that no log of what was printed holds one.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConsoleLink, FirstRun } from './first-run.js';
import type { Welcome } from './welcome.js';

const keyPath = (dataDir: string): string => join(dataDir, 'first-key');
const linkPath = (dataDir: string): string => join(dataDir, 'first-console-link');

/** Shows the key at once, so that a later fault of the start cannot lose it. */
export function showFirstKey({ secret }: FirstRun, dataDir: string, isTerminal: boolean): void {
  if (isTerminal) process.stdout.write(`platform key: ${secret}\n`);
  else writeFileSync(keyPath(dataDir), `${secret}\n`, { mode: 0o600 });
}

/** What the welcome says of the first run. Off a terminal the link is written to its file. */
export function firstRunFacts(
  { secret, startingBalanceNanoUsd }: FirstRun,
  { url, expiresAtMs }: ConsoleLink,
  dataDir: string,
  isTerminal: boolean,
): NonNullable<Welcome['firstRun']> {
  const consoleMs = expiresAtMs - Date.now();
  if (isTerminal) return { startingBalanceNanoUsd, secret, console: { url }, consoleMs };
  writeFileSync(linkPath(dataDir), `${url}\n`, { mode: 0o600 });
  return { startingBalanceNanoUsd, keyPath: keyPath(dataDir), console: { path: linkPath(dataDir) }, consoleMs };
}
