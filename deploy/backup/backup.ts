// Makes a backup of a running installation.
import { existsSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '#client/errors/app-error.js';
import { createFolders } from '#kit/config/folder.js';
import { tollgateVersion } from '#kit/process/version.js';
import { readSecretKeys } from '#kit/secrets/secret-key.js';
import { keyFiles } from '../../cli/secret-keys.js';
import { copyDataFolder, spoolName } from './data-folder.js';
import { type Manifest, type NeededKey, writeManifest } from './manifest.js';
import { copyServers, type ServiceUrls } from './server-schemas.js';

/** What to back up besides databases on servers. */
export interface BackupPlace {
  /** The folder of a single process or of the launcher; undefined: there is none on this machine. */
  readonly dataDir?: string | undefined;
  /** The spool of a gateway; undefined: `spool` in `dataDir`. */
  readonly spoolDir?: string | undefined;
  /** The keys that the services report; undefined if they do not run. */
  readonly keys?: readonly NeededKey[] | undefined;
}

/**
 * Copies the data folder of a single process into the new folder `target`, while calls run. Raises failed_precondition when `target` is not
 * empty or `dataDir` holds no installation. An interrupted backup leaves a folder without a manifest behind, which cannot be restored.
 */
export async function backUpDataFolder(target: string, { dataDir = '', spoolDir, keys }: BackupPlace): Promise<Manifest> {
  if (!existsSync(join(dataDir, 'books.db'))) {
    throw new AppError(
      'failed_precondition',
      `${dataDir} holds no data of a single-process Tollgate. Set TOLLGATE_DATA_DIR to its data folder, or for a distributed one TOLLGATE_BACKUP_DATABASE_URL.`,
    );
  }
  return intoNewFolder(target, async (folder) => {
    const startedAt = new Date().toISOString();
    const { paths, migrations } = copyDataFolder(dataDir, spoolDir ?? join(dataDir, spoolName), folder);
    return writeManifest(folder, paths, {
      tollgate_version: tollgateVersion,
      mode: 'single',
      engine: 'sqlite',
      started_at: startedAt,
      migrations,
      secret_keys: keys ?? neededKeys('single', dataDir),
      binary_logs: [],
    });
  });
}

/**
 * Copies the databases of a distributed installation into the new folder `target`, while calls run, and a spool on this machine. Raises
 * failed_precondition when `target` is not empty or a server refuses the copy.
 */
export async function backUpServers(target: string, urls: ServiceUrls, { dataDir, spoolDir, keys }: BackupPlace): Promise<Manifest> {
  return intoNewFolder(target, async (folder) => {
    const startedAt = new Date().toISOString();
    const place = { dataDir, spoolDir: spoolDir ?? (dataDir === undefined ? undefined : join(dataDir, spoolName)) };
    const { paths, migrations, binaryLogs } = await copyServers(urls, place, folder);
    return writeManifest(folder, paths, {
      tollgate_version: tollgateVersion,
      mode: 'distributed',
      engine: 'mysql',
      started_at: startedAt,
      migrations,
      secret_keys: keys ?? (dataDir === undefined ? [] : neededKeys('distributed', dataDir)),
      binary_logs: binaryLogs,
    });
  });
}

/** Returns the keys in the files of a data folder. */
function neededKeys(mode: Manifest['mode'], dataDir: string): NeededKey[] {
  return [...keyFiles({ mode, dataDir })].flatMap(([path, services]) =>
    (readSecretKeys(path) ?? []).map(({ id }) => ({ id, used_by: services })),
  );
}

/** Runs `work` on a folder next to `target` that gets its name when the backup is complete. */
async function intoNewFolder(target: string, work: (folder: string) => Promise<Manifest>): Promise<Manifest> {
  if (existsSync(target)) removeEmpty(target);
  const folder = `${target}.part-${process.pid}`;
  // In containers, a killed process may have had the same id.
  rmSync(folder, { recursive: true, force: true });
  createFolders(folder, 0o700);
  try {
    const manifest = await work(folder);
    renameSync(folder, target);
    return manifest;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Removes an empty folder that the backup will replace. Raises failed_precondition if it cannot be replaced. */
function removeEmpty(target: string): void {
  const name = `tollgate-${new Date().toISOString().slice(0, 10)}`;
  if (readdirSync(target).length > 0)
    throw new AppError(
      'failed_precondition',
      `${target} is not empty. Name a new folder for each backup, for example ${join(dirname(target), name)}.`,
    );
  try {
    rmdirSync(target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    throw new AppError(
      'failed_precondition',
      `A disk is mounted at ${target}. Name a new folder on it, for example ${join(target, name)}.`,
      {
        cause: error,
      },
    );
  }
}
