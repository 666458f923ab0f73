// Copies the data folder of a single process while it runs, and puts such a copy into a new folder.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { copySqlite } from '#kit/db/sqlite/copy.js';

/** The name of the file that marks the first start as done; without it a second operator would be created. */
const firstRunName = 'first-run.json';
/** The name of the spool in a data folder, and in a backup. */
export const spoolName = 'spool';
/** Reports of ended calls, and those that are kept for an operator. */
const spoolFile = /(\.spool|\.damaged|refused\.jsonl)$/;

/**
 * The databases in the order in which they are copied, so that what moves from one to another while they are copied is in at least one
 * copy: reports move from the spool to the books, and audit events and notifications from the others to auth, each of which knows by their
 * ids what it already has. Prices that a record names are in the catalog by then, and its account and key in auth. Ledger and metering share
 * the books, so that they are copied as of one moment.
 */
export const databaseNames = ['books', 'inference', 'catalog', 'auth'] as const;

/** What was copied. */
export interface Copied {
  /** Relative to the folder of the backup. */
  readonly paths: readonly string[];
  readonly migrations: Readonly<Record<string, readonly string[]>>;
}

/** Copies the data folder to a new folder. The secret key and the certificates are left out. */
export function copyDataFolder(dataDir: string, spoolDir: string, folder: string): Copied {
  const paths = copySpool(spoolDir, folder);
  const migrations: Record<string, readonly string[]> = {};
  for (const name of databaseNames) {
    const path = `${name}.db`;
    migrations[name] = copySqlite(join(dataDir, path), join(folder, path));
    chmodSync(join(folder, path), 0o600);
    paths.push(path);
  }
  if (existsSync(join(dataDir, firstRunName))) {
    copyFileSync(join(dataDir, firstRunName), join(folder, firstRunName));
    paths.push(firstRunName);
  }
  return { paths, migrations };
}

/** Copies what a gateway's spool holds. A file that disappears meanwhile is recorded, so that the books have what was in it. */
export function copySpool(spoolDir: string, folder: string): string[] {
  if (!existsSync(spoolDir)) return [];
  return readdirSync(spoolDir, { recursive: true, encoding: 'utf8' })
    .filter((name) => spoolFile.test(name))
    .filter((name) => copyIfThere(join(spoolDir, name), join(folder, spoolName, name)))
    .map((name) => join(spoolName, name));
}

function copyIfThere(from: string, to: string): boolean {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  try {
    copyFileSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
