// Spares each private MariaDB of a test the seconds in which its first start makes its system tables: they are copied.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { prepareFolder } from '../../deploy/distributed/mariadb/programs.js';
import { installOnce } from '../../deploy/distributed/mariadb/server-process.js';
import { root } from './process.js';

const cache = join(root, 'node_modules/.cache/mariadb');

/**
 * Copies the system tables into a new folder of `startMariadb`. The first test of a checkout makes them in the way a first start does;
 * tests/operations/mariadb.test.ts starts servers without a copy. Does nothing where the server would run as another user.
 */
export function copySystemTables(folder: string): void {
  if (prepareFolder(folder).uid !== undefined) return;
  if (!existsSync(join(cache, 'data'))) make();
  // Without holes: on a full disk MariaDB can write to its log, which is allocated, and so recovers.
  execFileSync('cp', ['-a', '--sparse=never', join(cache, 'data'), join(folder, 'data')]);
}

function make(): void {
  mkdirSync(cache, { recursive: true });
  const aside = mkdtempSync(join(cache, 'new-'));
  installOnce(aside, {});
  try {
    renameSync(join(aside, 'data'), join(cache, 'data'));
  } catch (error) {
    // Another worker was faster.
    if (!existsSync(join(cache, 'data'))) throw error;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}
