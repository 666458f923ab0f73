// Probes one MySQL server: whether it is writable now, and whether it is alive at all.
import type { MysqlHost, MysqlTls } from './address.js';
import { tlsOptions } from './tls.js';

/** The credentials of the probe. */
export interface Login {
  readonly user: string;
  readonly password: string;
  readonly tls?: MysqlTls | undefined;
}

type Query = (sql: string) => Promise<Map<string, string>>;

/** wsrep_local_state of a Galera node that is in sync with its cluster. */
const synced = '4';
/** wsrep_local_state of a Galera node that donates its data to a joining node. */
const donor = '2';

/**
 * Returns why the server is not writable, or undefined when it responds in time and accepts writes: it is not read-only, and as a
 * Galera node it is synced and in the cluster's primary component. Never raises.
 */
export async function faultOf(host: MysqlHost, login: Login, timeoutMs: number): Promise<string | undefined> {
  return probe(host, login, timeoutMs, stateFault).catch((error: unknown) => (error as Error).message);
}

// Errors of a connection attempt that show that no server responds. A name that does not resolve does not show that, nor does a lack of file
// descriptors in this process.
const deadCodes: ReadonlySet<unknown> = new Set([
  'ETIMEDOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'PROTOCOL_CONNECTION_LOST',
]);

/** Reports whether a server gives no response at all in time; an error such as too many connections is a response. Never raises. */
export async function isDead(host: MysqlHost, login: Login, timeoutMs: number): Promise<boolean> {
  return probe(host, login, timeoutMs, stateFault).then(
    () => false,
    (error: unknown) => deadCodes.has((error as { code?: unknown }).code),
  );
}

/**
 * A state in which a Galera node responds and serves no clients. A node outside of the primary component normally comes back by itself. A donor
 * normally serves; one that lost its cluster while donating stays stuck after the cluster is back (see
 * https://github.com/percona/galera/pull/114), until it is restarted.
 */
export type NodeTrouble = 'outside' | 'stuckDonor';

/** Returns which of these states a Galera node is in; undefined if it is in neither or does not respond. Never raises. */
export async function troubleOf(host: MysqlHost, login: Login, timeoutMs: number): Promise<NodeTrouble | undefined> {
  return probe(host, login, timeoutMs, async (query): Promise<NodeTrouble | undefined> => {
    const status = await query(galeraStatus);
    if (status.get('wsrep_cluster_status') !== 'Primary') return 'outside';
    return status.get('wsrep_local_state') === donor && !isOn(status.get('wsrep_ready')) ? 'stuckDonor' : undefined;
  }).catch(() => undefined);
}

/** Queries the server. Raises when it does not respond in time or responds with an error. */
async function probe<T>(
  { host, port }: MysqlHost,
  { user, password, tls }: Login,
  timeoutMs: number,
  work: (query: Query) => Promise<T>,
): Promise<T> {
  // Loaded only by processes whose database is MySQL.
  const { createConnection } = await import('mysql2');
  const connection = createConnection({ host, port, user, password, connectTimeout: timeoutMs, ...tlsOptions(tls) });
  // The statements fail with the same errors.
  connection.on('error', () => undefined);
  const query: Query = async (sql) => {
    const [rows] = await connection.promise().query(sql);
    const pairs = rows as { Variable_name: string; Value: string }[];
    return new Map(pairs.map((row) => [row.Variable_name.toLowerCase(), row.Value]));
  };
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('it does not respond'), { code: 'ETIMEDOUT' })), timeoutMs);
  });
  try {
    return await Promise.race([work(query), overdue]);
  } finally {
    clearTimeout(timer);
    connection.destroy();
  }
}

const galeraStatus = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_local_state')";

async function stateFault(query: Query): Promise<string | undefined> {
  const variables = await query("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'read_only')");
  if (isOn(variables.get('read_only'))) return 'it is read-only';
  // A server outside a cluster has no such variable, or it is off.
  if (!isOn(variables.get('wsrep_on'))) return undefined;
  const status = await query(galeraStatus);
  if (status.get('wsrep_cluster_status') !== 'Primary') return "it is not in its cluster's primary component";
  return isOn(status.get('wsrep_ready')) && status.get('wsrep_local_state') === synced
    ? undefined
    : 'it is not in sync with its cluster yet';
}

function isOn(value: string | undefined): boolean {
  return value?.toUpperCase() === 'ON';
}
