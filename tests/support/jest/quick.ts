// Selects the unit tests of `make check`: all but the slow ones; and in folders in which something has changed since the last commit, those too.
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { slowUnitTests } from './durations.ts';

/** Returns patterns of the slow tests to leave out: those in whose folders none of these files are. */
export function slowExceptBeside(changed: readonly string[]): string[] {
  const folders = new Set(changed.map((path) => dirname(path)));
  return Object.keys(slowUnitTests)
    .filter((path) => !folders.has(dirname(path)))
    .map((path) => `<rootDir>/${path.replaceAll('.', '\\.')}$`);
}

/** Returns the files that have changed since the last commit, by their path from the root of the checkout; none outside of a checkout. */
export function changedFiles(): string[] {
  try {
    const status = execFileSync('git', ['status', '--porcelain', '--no-renames', '--untracked-files=all', '-z'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return status.split('\0').flatMap((line) => (line === '' ? [] : [line.slice(3)]));
  } catch {
    return [];
  }
}
