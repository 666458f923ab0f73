// Ways to keep the databases of a running system from writing for a while.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '#kit/db/open.js';
import { adminUser, loadCredentials } from '../../deploy/distributed/mariadb/credentials.js';
import { pidsOf } from '../support/systems/processes.js';
import type { System } from '../support/systems/system.js';

/** Something that can keep databases from writing. */
export interface Disk {
  readonly name: string;
  /** Called before the system starts. Returns the folder for its data. */
  prepare(): string;
  refuseWrites(system: System): Promise<void>;
  allowWrites(system: System): Promise<void>;
  /** Called when the system has ended and its data is gone. */
  remove(): void;
}

/** Returns the disks that this machine supports. A full disk has to be mounted, which requires root. */
export function disksHere(): readonly Disk[] {
  return mayMount() ? [refusingDisk, fullDisk()] : [refusingDisk];
}

/**
 * Needs no privileges. SQLite gets an error at each write (RLIMIT_FSIZE of the process; Node ignores the signal that accompanies it);
 * MariaDB is set to read-only, as on a server that fails over.
 */
const refusingDisk: Disk = {
  name: 'a disk that refuses writes',
  prepare: tmpdir,
  async refuseWrites(system) {
    if (system.mode === 'single') execFileSync('prlimit', ['--pid', String(system.pid()), '--fsize=1:']);
    else await setReadOnly(system, true);
  },
  async allowWrites(system) {
    if (system.mode === 'single') execFileSync('prlimit', ['--pid', String(system.pid()), '--fsize=unlimited:']);
    else await setReadOnly(system, false);
  },
  remove: () => undefined,
};

async function setReadOnly(system: System, isReadOnly: boolean): Promise<void> {
  const port = /--port=(\d+)/.exec(readFileSync(`/proc/${pidsOf(system).mariadb}/cmdline`, 'utf8'))![1]!;
  const password = loadCredentials(join(system.dataDir, 'mariadb', 'credentials.json'))[adminUser]!;
  const db = openDatabase(`mysql://${adminUser}:${password}@127.0.0.1:${port}/mysql`);
  await db.knex.raw(`SET GLOBAL read_only = ${isReadOnly ? 1 : 0}`);
  await db.close();
}

// MariaDB's own files use about 150 MB of it.
const diskBytes = 400 * 2 ** 20;

/** Returns a small separate disk, filled to its last byte. */
function fullDisk(): Disk {
  let folder = '';
  return {
    name: 'a full disk',
    prepare() {
      folder = mkdtempSync(join(tmpdir(), 'tollgate-disk-'));
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'tmpfs', folder]);
      return folder;
    },
    async refuseWrites() {
      const file = openSync(join(folder, 'filler'), 'w');
      try {
        for (let bytes = 2 ** 20; bytes >= 1;) {
          try {
            writeSync(file, Buffer.alloc(bytes));
          } catch {
            bytes = Math.floor(bytes / 2);
          }
        }
      } finally {
        closeSync(file);
      }
    },
    async allowWrites() {
      rmSync(join(folder, 'filler'));
    },
    remove() {
      execFileSync('umount', [folder]);
      rmdirSync(folder);
    },
  };
}

function mayMount(): boolean {
  if (process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'pipe' });
    execFileSync('umount', [folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmdirSync(folder);
  }
}
