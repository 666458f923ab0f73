// Copies the system tables of private MariaDB servers in tests, which saves the seconds in which the first start of each creates them.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { prepareFolder } from '../../../deploy/distributed/mariadb/programs.js';
import { installOnce } from '../../../deploy/distributed/mariadb/server-process.js';
import { root } from '../systems/process.js';

const cache = join(root, 'node_modules/.cache/mariadb');

/** Copies the system tables into a new folder of `startMariadb`. The first test in a checkout creates them as a first start does; tests/operations/mariadb.test.ts starts servers without a copy. Does nothing if the server would run as another user.
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
