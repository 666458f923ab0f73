// Restores a backup into an empty place, and opens it only if its books are right.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AppError } from '#client/errors/app-error.js';
import { systemClock } from '#kit/clock.js';
import { createFolders } from '#kit/config/folder.js';
import type { Environment } from '#kit/config/settings.js';
import { lockFolder } from '#kit/db/sqlite/folder-lock.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { tollgateVersion } from '#kit/process/version.js';
import { readSecretKeys, type SecretKey, writeSecretKeys } from '#kit/secrets/secret-key.js';
import { keyFileNames, singleKeyFileName } from '../../cli/secret-keys.js';
import { agrees } from '../../cli/views/reconcile.js';
import { pauseDeliveries, recordRestore } from '../../services/auth/index.js';
import { startMariadb } from '../distributed/mariadb/mariadb.js';
import { databaseNames, spoolName } from './data-folder.js';
import { type Manifest, readManifest } from './manifest.js';
import { type BillDatabases, type Replay, replay } from './replay.js';
import { assertEmptyServer, loadServer, replayBinaryLogs, schemasOn, type ServiceUrls } from './server-schemas.js';
import { markUnfinished, unfinishedName } from './unfinished.js';

/** Binary logs in their order, and the instant up to which they are applied, in UTC ("2026-11-23 10:00:00"); undefined: to their end. */
interface BinaryLogs {
  readonly files: readonly string[];
  readonly until: string | undefined;
}

/** What to restore, and how. */
export interface RestoreRequest {
  /** The folder of the backup. */
  readonly source: string;
  /** The new data folder of the single process or of the launcher. */
  readonly dataDir: string;
  /** The server for the databases of a distributed installation; undefined: a private MariaDB in `dataDir`. */
  readonly serverUrl: string | undefined;
  /** Files with the secret keys that the backup needs. */
  readonly secretKeyFiles: readonly string[];
  /** Restores without those keys. */
  readonly withoutSecretKey: boolean;
  /** Sends mails and webhook requests after the start. Otherwise they wait until an operator resumes them. */
  readonly deliver: boolean;
  /** Binary logs to apply after the copy; absent: none. */
  readonly binaryLogs?: BinaryLogs;
  /** The settings of metering, if they differ from the defaults. */
  readonly env: Environment;
  readonly log: Logger;
}

/** The result of a restore. */
export interface Restored extends Replay {
  readonly manifest: Manifest;
  /** Whether it can be started: everything agrees. */
  readonly isOpen: boolean;
}

/**
 * Restores a backup into an empty place. Raises failed_precondition when the place is not empty, the backup is damaged or from a newer version, or
 * a secret key or a binary log is missing. If the books disagree, the result says how, and nothing starts on the data folder.
 */
export async function restore(request: RestoreRequest): Promise<Restored> {
  const { source, dataDir, log } = request;
  assertEmpty(dataDir);
  const manifest = await readManifest(source, tollgateVersion);
  if (request.binaryLogs !== undefined) assertContinues(manifest, request.binaryLogs);
  const keys = request.withoutSecretKey ? new Map<string, SecretKey>() : findKeys(manifest, request.secretKeyFiles);
  // Before anything is written, so that the same command can be repeated.
  if (manifest.mode === 'distributed' && request.serverUrl !== undefined) await assertEmptyServer(schemasOn(request.serverUrl));
  createFolders(dataDir, 0o700);
  const unlock = lockFolder(dataDir);
  try {
    markUnfinished(dataDir, source);
    placeKeys(manifest, keys, dataDir);
    const result = await (manifest.mode === 'single' ? restoreFiles(request, manifest) : restoreServer(request, manifest));
    const isOpen = agrees(result.verification) && result.spoolLeft === 0;
    if (isOpen) rmSync(join(dataDir, unfinishedName));
    else log.error({ folder: dataDir }, 'the restored data cannot be started');
    return { ...result, manifest, isOpen };
  } finally {
    unlock();
  }
}

async function restoreFiles(request: RestoreRequest, manifest: Manifest): Promise<Replay> {
  const { source, dataDir } = request;
  copyFiles(source, dataDir, manifest.files);
  const databases = Object.fromEntries(
    databaseNames.map((name) => [name, openDatabase(`sqlite:${join(dataDir, `${name}.db`)}`)]),
  ) as Record<(typeof databaseNames)[number], Database>;
  const { books, catalog, auth } = databases;
  return closing(databases, () => reconcileBooks({ catalog, ledger: books, metering: books }, auth, manifest, request));
}

async function restoreServer(request: RestoreRequest, manifest: Manifest): Promise<Replay> {
  const { source, dataDir, serverUrl, binaryLogs, log } = request;
  const isDump = ({ path }: { path: string }): boolean => path.endsWith('.sql.gz');
  copyFiles(
    source,
    dataDir,
    manifest.files.filter((file) => !isDump(file)),
  );
  const server = serverUrl === undefined ? await startMariadb({ dataDir: join(dataDir, 'mariadb'), log }) : undefined;
  try {
    const urls: ServiceUrls = schemasOn(serverUrl ?? server!.adminUrl);
    await loadServer(
      urls,
      manifest.files.filter(isDump).map(({ path }) => join(source, path)),
      manifest.migrations,
    );
    if (binaryLogs !== undefined) await replayBinaryLogs(urls, binaryLogs.files, manifest.binary_logs[0]!, binaryLogs.until);
    const databases = {
      auth: openDatabase(urls.auth),
      catalog: openDatabase(urls.catalog),
      ledger: openDatabase(urls.ledger),
      metering: openDatabase(urls.metering),
    };
    return await closing(databases, () => reconcileBooks(databases, databases.auth, manifest, request));
  } finally {
    await server?.stop();
  }
}

async function reconcileBooks(
  bill: BillDatabases,
  auth: Database,
  { started_at: backupAt }: Manifest,
  { dataDir, deliver, env, log }: RestoreRequest,
): Promise<Replay> {
  const result = await replay(bill, join(dataDir, spoolName), env, log);
  if (!deliver) await pauseDeliveries(auth, Date.now());
  await recordRestore(auth, systemClock, backupAt);
  return result;
}

async function closing<T>(databases: Readonly<Record<string, Database>>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    for (const db of Object.values(databases)) await db.close();
  }
}

function assertEmpty(dataDir: string): void {
  if (!existsSync(dataDir)) return;
  // A new file system has this folder.
  const present = readdirSync(dataDir).filter((name) => name !== 'lost+found');
  if (present.length === 0) return;
  throw new AppError(
    'failed_precondition',
    `${dataDir} is not empty (it has ${present.slice(0, 3).join(', ')}), and a restore never overwrites data. Set TOLLGATE_DATA_DIR to a new folder, or move the old one away.`,
  );
}

/**
 * Raises failed_precondition unless the binary logs continue the backup without a gap and end after it. The verification cannot notice that,
 * because the books agree at every instant.
 */
function assertContinues({ started_at: startedAt, binary_logs: [position, ...others] }: Manifest, { files, until }: BinaryLogs): void {
  const refuse = (message: string): never => {
    throw new AppError('failed_precondition', message);
  };
  if (position === undefined || others.length > 0)
    return refuse('Binary logs can be applied only to a backup of one server that wrote them at that time (binary_logs in its manifest).');
  if (until !== undefined && Date.parse(`${until}Z`) < Date.parse(startedAt))
    refuse(`--until must not be before ${startedAt}, when the backup was made. Restore an earlier backup to get to that time.`);
  const [, stem, number = ''] = /^(.*\.)(\d+)$/.exec(position.file) ?? [];
  for (const [index, path] of files.entries()) {
    const name = `${stem}${String(Number(number) + index).padStart(number.length, '0')}`;
    if (basename(path) !== name)
      refuse(`--binary-logs must name every log from ${position.file} on, in order: it has ${basename(path)} where ${name} is expected.`);
    if (!existsSync(path)) refuse(`${path} does not exist; --binary-logs names files on this machine.`);
  }
}

function copyFiles(source: string, dataDir: string, files: Manifest['files']): void {
  for (const { path } of files) {
    mkdirSync(dirname(join(dataDir, path)), { recursive: true, mode: 0o700 });
    copyFileSync(join(source, path), join(dataDir, path));
    // A backup may be kept where nobody can change it, or where modes are lost.
    chmodSync(join(dataDir, path), 0o600);
  }
}

/** Returns the keys that the backup needs, by id. Raises failed_precondition that names those that no file has. */
function findKeys({ secret_keys: needed }: Manifest, files: readonly string[]): Map<string, SecretKey> {
  const given = new Map<string, SecretKey>();
  for (const path of files.flatMap(filesAt)) for (const key of readSecretKeys(path) ?? []) given.set(key.id, key);
  const missing = needed.filter(({ id }) => !given.has(id));
  if (missing.length > 0) {
    const names = missing.map(({ id, used_by: users }) => `${id} (of ${users.join(', ')})`).join(', ');
    throw new AppError(
      'failed_precondition',
      `The secrets in the backup are encrypted with the key ${names}, which is not in the files given with --secret-key. ` +
        'Specify your copy of the file, or --without-secret-key if the key is permanently lost; docs/backup.md says what is lost with it.',
    );
  }
  return given;
}

/** Returns the key files in a folder, or the file itself. */
function filesAt(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined)
    throw new AppError('failed_precondition', `${path} does not exist; --secret-key names a file, or a folder of files.`);
  if (!found.isDirectory()) return [path];
  return readdirSync(path)
    .filter((name) => name.endsWith('secret-key'))
    .map((name) => join(path, name));
}

/** Writes the keys to where the processes look for them. */
function placeKeys({ secret_keys: needed, mode }: Manifest, keys: ReadonlyMap<string, SecretKey>, dataDir: string): void {
  const idsByFile = new Map<string, Set<string>>();
  for (const { id, used_by: users } of needed) {
    for (const user of users) {
      const name = mode === 'single' ? singleKeyFileName : keyFileNames[user as keyof typeof keyFileNames];
      idsByFile.set(name, (idsByFile.get(name) ?? new Set()).add(id));
    }
  }
  for (const [name, ids] of idsByFile) {
    const found = [...ids].flatMap((id) => keys.get(id) ?? []);
    if (found.length > 0) writeSecretKeys(join(dataDir, name), found);
  }
}
