// Finds the programs that a private MariaDB needs, and chooses the user that they run as.
import { spawnSync } from 'node:child_process';
import { accessSync, chownSync, constants, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Programs of Debian's mariadb-server-core, redis-server and util-linux; for Galera also of rsync, and the state transfer script of mariadb-server; for
 * backups those of mariadb-client.
 */
export type Program =
  | 'mariadbd'
  | 'mariadb-install-db'
  | 'setpriv'
  | 'redis-server'
  | 'rsync'
  | 'wsrep_sst_rsync'
  | 'mariadb-dump'
  | 'mariadb'
  | 'mariadb-binlog';

/** The user that the server runs as; empty for the current user. */
export interface RunAs {
  readonly uid?: number;
  readonly gid?: number;
}

// Debian installs the server in a folder that is not in an ordinary user's PATH.
const extraFolders = ['/usr/sbin', '/usr/local/sbin'];

/** Returns the path of a program. Raises an Error that says how to install it if it is missing. */
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
  throw new Error(
    `${name} is not installed. "make run-distributed" and "make run-galera" install the programs that they need from Debian's packages; ` +
      'backups need mariadb-client.',
  );
}

/**
 * Creates the data folder and returns the user that is to own it. A server needs no root privileges, so as root the first existing one of
 * `users` is chosen, unless none exists or it cannot write to the folder (for example below /root).
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
