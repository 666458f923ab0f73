// Asks one MySQL server whether it can be written to now, or is there at all.
import { createConnection } from 'mysql2';
import type { MysqlHost } from './address.js';

/** Who asks. */
export interface Login {
  readonly user: string;
  readonly password: string;
}

type Ask = (sql: string) => Promise<Map<string, string>>;

/** The state of a Galera node that has everything that its cluster has. */
const synced = '4';
/** The state of a Galera node that gives its data to another one. */
const donor = '2';

/**
 * Why the server cannot be written to, or undefined when it answers in time and accepts writes: no replica that is read-only, and as a
 * Galera node in the cluster's primary part and with all of its data. Never raises.
 */
export async function faultOf(host: MysqlHost, login: Login, timeoutMs: number): Promise<string | undefined> {
  return probe(host, login, timeoutMs, stateFault).catch((error: unknown) => (error as Error).message);
}

// What of an attempt to connect tells that nothing is there. A name that is not found or a lack of files of ours tells nothing.
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

/** Whether a server gives no answer at all in time; an error from it, as when it has no connection to spare, is one. Never raises. */
export async function isDead(host: MysqlHost, login: Login, timeoutMs: number): Promise<boolean> {
  return probe(host, login, timeoutMs, stateFault).then(
    () => false,
    (error: unknown) => deadCodes.has((error as { code?: unknown }).code),
  );
}

/**
 * Whether the server is a Galera node that is taken for a donor of its data and serves nobody. A donor does serve; one that lost its
 * cluster while it gave stays so for good once the cluster is back (https://github.com/percona/galera/pull/114 has the story), until
 * it is started again. Never raises: no answer is none of that.
 */
export async function isLeftDonor(host: MysqlHost, login: Login, timeoutMs: number): Promise<boolean> {
  return probe(host, login, timeoutMs, async (ask) => {
    const status = await ask(galeraStatus);
    return (
      status.get('wsrep_cluster_status') === 'Primary' && status.get('wsrep_local_state') === donor && !isOn(status.get('wsrep_ready'))
    );
  }).catch(() => false);
}

/** What the server says in time. Raises when it does not answer in time or answers with an error. */
async function probe<T>(
  { host, port }: MysqlHost,
  { user, password }: Login,
  timeoutMs: number,
  question: (ask: Ask) => Promise<T>,
): Promise<T> {
  const connection = createConnection({ host, port, user, password, connectTimeout: timeoutMs });
  // Its errors are those of the statements too.
  connection.on('error', () => undefined);
  const ask: Ask = async (sql) => {
    const [rows] = await connection.promise().query(sql);
    const pairs = rows as { Variable_name: string; Value: string }[];
    return new Map(pairs.map((row) => [row.Variable_name.toLowerCase(), row.Value]));
  };
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('it does not answer'), { code: 'ETIMEDOUT' })), timeoutMs);
  });
  try {
    return await Promise.race([question(ask), overdue]);
  } finally {
    clearTimeout(timer);
    connection.destroy();
  }
}

const galeraStatus = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_local_state')";

async function stateFault(ask: Ask): Promise<string | undefined> {
  const variables = await ask("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'read_only')");
  if (isOn(variables.get('read_only'))) return 'it is read-only';
  // A server without a cluster has no such variable, or has it off.
  if (!isOn(variables.get('wsrep_on'))) return undefined;
  const status = await ask(galeraStatus);
  if (status.get('wsrep_cluster_status') !== 'Primary') return 'it is not in the primary part of its cluster';
  return isOn(status.get('wsrep_ready')) && status.get('wsrep_local_state') === synced
    ? undefined
    : 'it does not have all data of its cluster yet';
}

function isOn(value: string | undefined): boolean {
  return value?.toUpperCase() === 'ON';
}
