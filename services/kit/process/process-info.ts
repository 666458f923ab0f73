// Describes the running process: its versions, its start time and its database.
import { randomBytes } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { getEnvironmentData } from 'node:worker_threads';
import type { Database } from '../db/open.js';
import { asText } from '../db/values.js';
import { tollgateVersion } from './version.js';

/** A process, and the database of one of its services. */
export interface ProcessInfo {
  /** Identifies this process; created at its start. */
  readonly instanceId: string;
  readonly version: string;
  readonly nodeVersion: string;
  readonly startedAtMs: bigint;
  /** "SQLite", "MySQL" or "MariaDB". */
  readonly databaseEngine: string;
  readonly databaseVersion: string;
  /** How long the database took to return its version, in microseconds. */
  readonly databaseLatencyUs: number;
  /** The secret keys of the service, the current one first; empty if it has none. */
  readonly secretKeys: SecretKeyState[];
  /** The clock of this process. */
  readonly nowMs: bigint;
  /** When its certificate expires; 0: it has none. */
  readonly certificateExpiresAtMs: bigint;
  /** Free space on the disk of the database; 0: the database is on another machine, or only in memory. */
  readonly diskFreeBytes: bigint;
  readonly diskTotalBytes: bigint;
}

/** A secret key of a service. */
export interface SecretKeyState {
  readonly id: string;
  /** Whether it encrypts new secrets. */
  readonly current: boolean;
  /** How many secrets in the database are encrypted with it. */
  readonly sealed: bigint;
}

/** By database and by the name of the service, because in single mode two services share a database. */
const secretKeysOf = new WeakMap<Database, Map<string, () => Promise<SecretKeyState[]>>>();

/** Lets `processInfo` report the secret keys of this service in this database. */
export function reportSecretKeys(db: Database, service: string, read: () => Promise<SecretKeyState[]>): void {
  secretKeysOf.set(db, (secretKeysOf.get(db) ?? new Map()).set(service, read));
}

let certificate: { readonly expiresAtMs: number } | undefined;

/** Sets the certificate of this process, whose expiry `processInfo` reports. */
export function setCertificate(own: { readonly expiresAtMs: number }): void {
  certificate = own;
}

/** Returns when the certificate of this process expires; undefined: it has none. */
export function certificateExpiresAtMs(): number | undefined {
  return certificate?.expiresAtMs;
}

/** The name under which the threads of a process find `thisProcess` in worker_threads' environment data. */
export const thisProcessKey = 'tollgate.process';

/** This process without a database; the same in all of its threads. */
export const thisProcess: Pick<ProcessInfo, 'instanceId' | 'version' | 'nodeVersion' | 'startedAtMs'> = (getEnvironmentData(
  thisProcessKey,
) as never) ?? {
  instanceId: randomBytes(8).toString('hex'),
  version: tollgateVersion,
  nodeVersion: process.versions.node,
  startedAtMs: BigInt(Math.round(performance.timeOrigin)),
};

/** Queries the database. Returns this process, the database, and the secret keys of `service`, by default the only service with keys in the database. */
export async function processInfo(db: Database, service?: string): Promise<ProcessInfo> {
  const beganAt = performance.now();
  const { version, folder } = await databaseState(db);
  const databaseLatencyUs = Math.round((performance.now() - beganAt) * 1000);
  const readers = secretKeysOf.get(db);
  const read = service === undefined ? readers?.values().next().value : readers?.get(service);
  const secretKeys = (await read?.()) ?? [];
  const databaseEngine = db.engine === 'sqlite' ? 'SQLite' : /mariadb/i.test(version) ? 'MariaDB' : 'MySQL';
  // MariaDB's version is followed by its name: "11.4.2-MariaDB".
  return {
    ...thisProcess,
    databaseEngine,
    databaseVersion: version.split('-')[0] ?? version,
    databaseLatencyUs,
    secretKeys,
    nowMs: BigInt(Date.now()),
    certificateExpiresAtMs: BigInt(certificate?.expiresAtMs ?? 0),
    ...(await diskOf(folder)),
  };
}

/** Returns the version, and the folder of the data; undefined: it is on another machine, or only in memory. */
async function databaseState({ engine, knex }: Database): Promise<{ version: string; folder: string | undefined }> {
  if (engine === 'sqlite') {
    const statement = "SELECT sqlite_version() AS version, file AS folder FROM pragma_database_list WHERE name = 'main'";
    const [row] = (await knex.raw(statement)) as { version: unknown; folder: unknown }[];
    const file = asText(row?.folder);
    return { version: asText(row?.version), folder: file === '' ? undefined : dirname(file) };
  }
  const [[row]] = (await knex.raw('SELECT VERSION() AS version, @@datadir AS folder, @@hostname AS host')) as [
    { version: unknown; folder: unknown; host: unknown }[],
    unknown,
  ];
  return { version: asText(row?.version), folder: row?.host === hostname() ? asText(row?.folder) : undefined };
}

async function diskOf(folder: string | undefined): Promise<Pick<ProcessInfo, 'diskFreeBytes' | 'diskTotalBytes'>> {
  const disk = folder === undefined ? undefined : await statfs(folder, { bigint: true }).catch(() => undefined);
  return { diskFreeBytes: (disk?.bavail ?? 0n) * (disk?.bsize ?? 0n), diskTotalBytes: (disk?.blocks ?? 0n) * (disk?.bsize ?? 0n) };
}
