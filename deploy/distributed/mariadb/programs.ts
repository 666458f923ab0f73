// The programs that a private MariaDB needs, and the user that they run as.
import { spawnSync } from 'node:child_process';
import { accessSync, chownSync, constants, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The programs of Debian's mariadb-server-core and util-linux; for Galera also of rsync, and of mariadb-server what transfers a node's data. */
export type Program = 'mariadbd' | 'mariadb-install-db' | 'setpriv' | 'rsync' | 'wsrep_sst_rsync';

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
  throw new Error(`${name} is not installed; "make run-distributed" and "make run-galera" install what they need from Debian's packages.`);
}

/**
 * Makes the folder of the data and says who is to own it. A server needs no rights of root, so as root we use the first of these users
 * that there is; but not where there is none, or where it cannot reach the folder (below /root, say).
 */
export function prepareFolder(folder: string, users: readonly string[] = ['mysql']): RunAs {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.getuid?.() !== 0) return {};
  const user = users.find((name) => numericId('-u', name) !== undefined);
  const [uid, gid] = user === undefined ? [] : [numericId('-u', user), numericId('-g', user)];
  if (uid === undefined || gid === undefined) return {};
  chownSync(folder, uid, gid);
  const canWrite = spawnSync('test', ['-w', folder], { uid, gid, cwd: '/' }).status === 0;
  if (canWrite) return { uid, gid };
  chownSync(folder, 0, 0);
  return {};
}

function numericId(which: '-u' | '-g', user: string): number | undefined {
  const result = spawnSync('id', [which, user], { encoding: 'utf8' });
  return result.status === 0 ? Number(result.stdout.trim()) : undefined;
}
