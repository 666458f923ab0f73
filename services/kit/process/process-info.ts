// Describes the running process: its versions, its start time and its database.
import { randomBytes } from 'node:crypto';
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
}

/** A secret key of a service. */
export interface SecretKeyState {
  readonly id: string;
  /** Whether it encrypts new secrets. */
  readonly current: boolean;
  /** How many secrets in the database are encrypted with it. */
  readonly sealed: bigint;
}

const secretKeysOf = new WeakMap<Database, () => Promise<SecretKeyState[]>>();

/** Lets `processInfo` report the secret keys of the service that owns this database. */
export function reportSecretKeys(db: Database, read: () => Promise<SecretKeyState[]>): void {
  secretKeysOf.set(db, read);
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

/** Returns this process and its database, which it queries. */
export async function processInfo(db: Database): Promise<ProcessInfo> {
  const beganAt = performance.now();
  const version = await databaseVersion(db);
  const databaseLatencyUs = Math.round((performance.now() - beganAt) * 1000);
  const secretKeys = (await secretKeysOf.get(db)?.()) ?? [];
  const databaseEngine = db.engine === 'sqlite' ? 'SQLite' : /mariadb/i.test(version) ? 'MariaDB' : 'MySQL';
  // MariaDB names itself within its version.
  return { ...thisProcess, databaseEngine, databaseVersion: version.split('-')[0] ?? version, databaseLatencyUs, secretKeys };
}

async function databaseVersion({ engine, knex }: Database): Promise<string> {
  const statement = engine === 'sqlite' ? 'SELECT sqlite_version() AS version' : 'SELECT VERSION() AS version';
  const answer: unknown = await knex.raw(statement);
  const rows = (engine === 'sqlite' ? answer : (answer as unknown[])[0]) as { version: unknown }[];
  return asText(rows[0]?.version);
}
