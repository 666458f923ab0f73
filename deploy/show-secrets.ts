// Delivers the secrets of the first start to the operator: printed if the output is a terminal, otherwise each in a file of its own that
// only its owner can read, so that no log of the output contains one.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConsoleLink, FirstRun } from './first-run.js';
import type { Welcome } from './welcome.js';

const keyPath = (dataDir: string): string => join(dataDir, 'first-key');
const linkPath = (dataDir: string): string => join(dataDir, 'first-console-link');

/** Returns what the welcome text shows of the first run. Writes the key and the link to their files if the output is not a terminal. */
export function firstRunFacts(
  { secret, startingBalanceNanoUsd }: FirstRun,
  { url, expiresAtMs }: ConsoleLink,
  dataDir: string,
  isTerminal: boolean,
): NonNullable<Welcome['firstRun']> {
  const consoleMs = expiresAtMs - Date.now();
  if (isTerminal) return { startingBalanceNanoUsd, secret, console: { url }, consoleMs };
  writeFileSync(keyPath(dataDir), `${secret}\n`, { mode: 0o600 });
  writeFileSync(linkPath(dataDir), `${url}\n`, { mode: 0o600 });
  return { startingBalanceNanoUsd, keyPath: keyPath(dataDir), console: { path: linkPath(dataDir) }, consoleMs };
}
