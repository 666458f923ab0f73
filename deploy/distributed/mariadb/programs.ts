// The programs that a private MariaDB needs, and the user that they run as.
import { spawnSync } from 'node:child_process';
import { accessSync, chownSync, constants, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The programs that Debian's mariadb-server-core and util-linux bring. */
export type Program = 'mariadbd' | 'mariadb-install-db' | 'setpriv';

/** The user that the server runs as; empty to stay who we are. */
export interface RunAs {
  readonly uid?: number;
  readonly gid?: number;
}

// Debian keeps the server's program where an ordinary user's PATH does not look.
const extraFolders = ['/usr/sbin', '/usr/local/sbin'];

/** The path of a program. Raises an Error that says how to install it when it is missing. */
export function findProgram(name: Program): string {
  for (const folder of [...(process.env['PATH'] ?? '').split(delimiter), ...extraFolders]) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder.
    }
  }
  throw new Error(`${name} is not installed; install Debian's mariadb-server-core, mariadb-client-core and util-linux, as "make run-distributed" does.`);
}

/**
 * Makes the folder of the data and says who is to own it. A server needs no rights of root, so as root we use the mysql user;
 * but not where there is none, or where it cannot reach the folder (below /root, say).
 */
export function prepareFolder(folder: string): RunAs {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.getuid?.() !== 0) return {};
  const uid = numericId('-u');
  const gid = numericId('-g');
  if (uid === undefined || gid === undefined) return {};
  chownSync(folder, uid, gid);
  const canWrite = spawnSync('test', ['-w', folder], { uid, gid, cwd: '/' }).status === 0;
  if (canWrite) return { uid, gid };
  chownSync(folder, 0, 0);
  return {};
}

function numericId(which: '-u' | '-g'): number | undefined {
  const result = spawnSync('id', [which, 'mysql'], { encoding: 'utf8' });
  return result.status === 0 ? Number(result.stdout.trim()) : undefined;
}
