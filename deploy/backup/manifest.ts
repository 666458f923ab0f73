// The manifest of a backup: what it holds, how it was made, and what it takes to restore it.
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '#client/errors/app-error.js';
import type { BinaryLogPosition } from './mariadb-tools.js';

/** The name of the manifest in the folder of a backup. */
export const manifestName = 'manifest.json';

const format = 'tollgate-backup';
const formatVersion = 1;

/** A file of a backup. */
interface BackupFile {
  /** Relative to the folder of the backup. */
  readonly path: string;
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** A key that encrypts secrets in a backup. The key itself is never in it. */
export interface NeededKey {
  readonly id: string;
  /** The services whose secrets it encrypts. */
  readonly used_by: readonly string[];
}

/** Describes a backup. */
export interface Manifest {
  readonly format: typeof format;
  readonly format_version: number;
  readonly tollgate_version: string;
  readonly mode: 'single' | 'distributed';
  readonly engine: 'sqlite' | 'mysql';
  /** Every call that was answered before this time is in the backup. */
  readonly started_at: string;
  readonly finished_at: string;
  /** The migrations of each database. */
  readonly migrations: Readonly<Record<string, readonly string[]>>;
  readonly secret_keys: readonly NeededKey[];
  /** Where the binary log of each server stood, in the order of the dumps; for point-in-time restores. */
  readonly binary_logs: readonly BinaryLogPosition[];
  readonly files: readonly BackupFile[];
}

/** Describes what is in the folder of a new backup, and makes it complete: without a manifest a folder is not a backup. */
export async function writeManifest(
  folder: string,
  paths: readonly string[],
  fields: Omit<Manifest, 'format' | 'format_version' | 'finished_at' | 'files'>,
): Promise<Manifest> {
  const files: BackupFile[] = [];
  for (const path of paths) files.push(await describeFile(folder, path));
  const manifest: Manifest = { format, format_version: formatVersion, ...fields, finished_at: new Date().toISOString(), files };
  const temporary = join(folder, `${manifestName}.part`);
  writeFileSync(temporary, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(temporary, join(folder, manifestName));
  return manifest;
}

async function describeFile(folder: string, path: string): Promise<BackupFile> {
  return { path, bytes: (await stat(join(folder, path))).size, sha256: await sha256Of(join(folder, path)) };
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/**
 * Reads the manifest of a backup and checks every file against it. Raises failed_precondition that says what is missing or damaged, or
 * that the backup was made by a newer Tollgate.
 */
export async function readManifest(folder: string, tollgateVersion: string): Promise<Manifest> {
  const manifest = parseManifest(folder);
  if (manifest.format_version > formatVersion || isNewer(manifest.tollgate_version, tollgateVersion)) {
    throw new AppError(
      'failed_precondition',
      `The backup was made by Tollgate ${manifest.tollgate_version}, which is newer than this one (${tollgateVersion}). Restore it with that version.`,
    );
  }
  const faults: string[] = [];
  for (const file of manifest.files) {
    const found = await describeFile(folder, file.path).catch(() => undefined);
    if (found === undefined) faults.push(`${file.path} is missing`);
    else if (found.bytes !== file.bytes) faults.push(`${file.path} has ${found.bytes} bytes instead of ${file.bytes}`);
    else if (found.sha256 !== file.sha256) faults.push(`${file.path} has another SHA-256 than when it was written`);
  }
  if (faults.length > 0)
    throw new AppError('failed_precondition', `The backup in ${folder} is damaged: ${faults.join('; ')}. Restore another one.`);
  return manifest;
}

function parseManifest(folder: string): Manifest {
  let manifest: Partial<Manifest>;
  try {
    manifest = JSON.parse(readFileSync(join(folder, manifestName), 'utf8')) as Partial<Manifest>;
  } catch (error) {
    throw new AppError(
      'failed_precondition',
      `${folder} is not a complete backup: its ${manifestName} is missing or cannot be read. An interrupted backup has none.`,
      { cause: error },
    );
  }
  // A newer version may have other modes and engines.
  const isKnown =
    manifest.mode === 'single' ? manifest.engine === 'sqlite' : manifest.mode === 'distributed' && manifest.engine === 'mysql';
  const isNewFormat = typeof manifest.format_version === 'number' && manifest.format_version > formatVersion;
  if (manifest.format !== format || !Array.isArray(manifest.files) || !(isKnown || isNewFormat))
    throw new AppError('failed_precondition', `${join(folder, manifestName)} is not the manifest of a backup.`);
  return manifest as Manifest;
}

/**
 * Reports whether a version such as "1.10.0" or "1.10.0-rc.1" is newer than another one. As in semantic versioning, a release is newer than its candidates,
 * and build metadata ("+28d783be1f") is ignored.
 */
export function isNewer(one: string, other: string): boolean {
  const [[release, candidate], [otherRelease, otherCandidate]] = [partsOf(one), partsOf(other)];
  const byRelease = release.localeCompare(otherRelease, 'en', { numeric: true });
  if (byRelease !== 0 || otherCandidate === '') return byRelease > 0;
  return candidate === '' || candidate.localeCompare(otherCandidate, 'en', { numeric: true }) > 0;
}

function partsOf(version: string): readonly [release: string, candidate: string] {
  const [release = '', ...candidate] = version.replace(/\+.*/, '').split('-');
  return [release, candidate.join('-')];
}
