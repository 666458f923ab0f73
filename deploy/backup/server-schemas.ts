// Copies the databases of a distributed installation while it runs, and loads such a copy.
import { existsSync, statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { AppError } from '#client/errors/app-error.js';
import { parseMysqlUrl } from '#kit/db/mysql/address.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import { asNumber, asText } from '#kit/db/values.js';
import { type Copied, copySpool } from './data-folder.js';
import { applyBinaryLogs, type BinaryLogPosition, dump, load } from './mariadb-tools.js';

/**
 * The services in the order in which their databases are copied if they are on several servers. The ledger comes first: what metering has settled
 * since then is settled again at the restore, while a charge without its record could not be explained. Auth comes last, because audit events and
 * notifications move there from the others.
 */
export const serviceNames = ['ledger', 'metering', 'inference', 'catalog', 'auth'] as const;

/** One of the services. */
type ServiceName = (typeof serviceNames)[number];

/** Where the database of each service is. */
export type ServiceUrls = Readonly<Record<ServiceName, string>>;

/** Returns the url of each service's schema on a server: tollgate_auth and so on. */
export function schemasOn(serverUrl: string): ServiceUrls {
  return Object.fromEntries(serviceNames.map((name) => [name, withSchema(serverUrl, `tollgate_${name}`)])) as ServiceUrls;
}

/** Returns the url of another schema on the same server. */
function withSchema(url: string, schema: string): string {
  return url.replace(/^(mysql:\/\/[^/?]+)[^?]*/, `$1/${schema}`);
}

/** What was copied, and the positions in the binary logs of the servers that write one. */
export interface CopiedServers extends Copied {
  readonly binaryLogs: readonly BinaryLogPosition[];
}

/** Copies the spool of a gateway and the databases into a folder. `dataDir` is the launcher's, if there is one. */
export async function copyServers(
  urls: ServiceUrls,
  { dataDir, spoolDir }: { readonly dataDir?: string | undefined; readonly spoolDir?: string | undefined },
  folder: string,
): Promise<CopiedServers> {
  const paths = spoolDir === undefined ? [] : copySpool(spoolDir, folder);
  const noted = await migrationsAt(urls);
  const binaryLogs: BinaryLogPosition[] = [];
  for (const [index, names] of byServer(urls).entries()) {
    const first = urls[names[0]!];
    const path = `${index + 1}-${names.join('-')}.sql.gz`;
    const schemas = names.map((name) => parseMysqlUrl(urls[name]).database);
    const position = await dump(first, schemas, await hasBinaryLog(first), join(folder, path));
    if (position !== undefined) binaryLogs.push(position);
    paths.push(path);
  }
  // The copy of a schema that was migrated meanwhile is from before and after the migration, and could not be restored.
  if (!isDeepStrictEqual(await migrationsAt(urls), noted))
    throw new AppError(
      'failed_precondition',
      'A schema was changed while it was copied. Run the backup again once the upgrade is complete.',
    );
  if (dataDir !== undefined && existsSync(join(dataDir, 'first-run.json'))) {
    await copyFile(join(dataDir, 'first-run.json'), join(folder, 'first-run.json'));
    paths.push('first-run.json');
  }
  const migrations = Object.fromEntries(Object.entries(noted).map(([name, all]) => [name, completeOf(all)]));
  return { paths, migrations, binaryLogs };
}

/** Returns the services that share a server, server by server. */
function byServer(urls: ServiceUrls): ServiceName[][] {
  const groups = Map.groupBy(serviceNames, (name) => {
    const { hosts, socketPath, user } = parseMysqlUrl(urls[name]);
    return JSON.stringify([hosts, socketPath, user]);
  });
  return [...groups.values()];
}

async function hasBinaryLog(url: string): Promise<boolean> {
  return withDatabase(url, async (db) => asNumber((await db.query('SELECT @@log_bin AS is_on', []))[0]!['is_on']) === 1);
}

/** Returns what is noted of migrations in each schema. */
async function migrationsAt(urls: ServiceUrls): Promise<Record<string, readonly string[]>> {
  const noted: Record<string, readonly string[]> = {};
  for (const name of serviceNames) noted[name] = await withDatabase(urls[name], notedMigrations);
  return noted;
}

async function notedMigrations(db: Database): Promise<string[]> {
  const rows = await db.query('SELECT name FROM schema_migration ORDER BY name', []);
  return rows.map((row) => asText(row['name']));
}

/** Returns the complete migrations: on MySQL, each of their statements is noted too. */
function completeOf(noted: readonly string[]): string[] {
  return noted.filter((name) => !name.includes(' '));
}

/** Raises failed_precondition if the schemas of the services on a server are not empty. */
export async function assertEmptyServer(urls: ServiceUrls): Promise<void> {
  await withDatabase(withSchema(urls.ledger, 'information_schema'), async (db) => {
    const schemas = serviceNames.map((name) => parseMysqlUrl(urls[name]).database);
    const [row] = await db.query(
      `SELECT MIN(table_schema) AS used FROM tables WHERE table_schema IN (${schemas.map(() => '?').join(', ')})`,
      schemas,
    );
    if (row!['used'] === null) return;
    throw new AppError(
      'failed_precondition',
      `The server already has tables in ${asText(row!['used'])}, and a restore never overwrites data. ` +
        'Drop its schema if it is no longer needed, or set TOLLGATE_RESTORE_DATABASE_URL to another server.',
    );
  });
}

/** Loads the copies into an empty server. Raises failed_precondition if its schemas lack a migration that the copies have afterwards. */
export async function loadServer(
  urls: ServiceUrls,
  paths: readonly string[],
  migrations: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  const url = urls.ledger;
  for (const path of paths) await load(withSchema(url, ''), path);
  for (const name of serviceNames) {
    const loaded = completeOf(await withDatabase(urls[name], notedMigrations).catch((): string[] => []));
    const missing = (migrations[name] ?? [`all of ${name}`]).filter((each) => !loaded.includes(each));
    if (missing.length > 0)
      throw new AppError('failed_precondition', `The copies do not hold the whole database of ${name}: ${missing.join(', ')} is missing.`);
  }
}

/** Applies binary logs to a server on which a copy was loaded. */
export async function replayBinaryLogs(
  urls: ServiceUrls,
  logs: readonly string[],
  { position: from }: BinaryLogPosition,
  until: string | undefined,
): Promise<void> {
  // The last log may still grow while it is copied from the server, but all services must agree.
  const to = statSync(logs.at(-1)!).size;
  // One schema after another, which no transaction spans. So the statements of administrators, such as CREATE USER, are left out.
  for (const name of serviceNames) {
    const { database } = parseMysqlUrl(urls[name]);
    await applyBinaryLogs(withSchema(urls.ledger, ''), database, logs, { from, to, until });
  }
}

async function withDatabase<T>(url: string, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openDatabase(url, { poolMax: 1 });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}
