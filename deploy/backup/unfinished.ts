// Marks a data folder whose restore is not complete, so that nothing starts on it.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '#client/errors/app-error.js';

/** The name of the mark. */
export const unfinishedName = 'restore-unfinished';

/** Marks a folder. */
export function markUnfinished(dataDir: string, source: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  writeFileSync(join(dataDir, unfinishedName), `The restore of ${source} has not been completed.\n`, { mode: 0o600, flush: true });
}

/** Raises failed_precondition for a folder whose restore was interrupted, or whose books disagreed. */
export function refuseUnfinished(dataDir: string): void {
  const path = join(dataDir, unfinishedName);
  if (!existsSync(path)) return;
  throw new AppError(
    'failed_precondition',
    `The restore into ${dataDir} was interrupted, or its books were wrong. Delete the folder and restore again; to open the wrong books anyway, delete ${path}.`,
  );
}
