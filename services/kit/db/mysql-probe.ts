// Asks one MySQL server whether it can be written to now, or is there at all.
import { createConnection } from 'mysql2';
import type { MysqlHost } from './mysql-address.js';

/** Who asks. */
export interface Login {
  readonly user: string;
  readonly password: string;
}

type Ask = (sql: string) => Promise<Map<string, string>>;

/** The state of a Galera node that has everything that its cluster has. */
const synced = '4';

/**
 * Why the server cannot be written to, or undefined when it answers in time and accepts writes: no replica that is read-only, and as a
 * Galera node in the cluster's primary part and with all of its data. Never raises.
 */
export async function faultOf(host: MysqlHost, login: Login, timeoutMs: number): Promise<string | undefined> {
  return probe(host, login, timeoutMs).catch((error: unknown) => (error as Error).message);
}

// What of an attempt to connect tells that nothing is there. A name that is not found or a lack of files of ours tells nothing.
const deadCodes: ReadonlySet<unknown> = new Set([
  'ETIMEDOUT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'PROTOCOL_CONNECTION_LOST',
]);

/** Whether a server gives no answer at all in time; an error from it, as when it has no connection to spare, is one. Never raises. */
export async function isDead(host: MysqlHost, login: Login, timeoutMs: number): Promise<boolean> {
  return probe(host, login, timeoutMs).then(
    () => false,
    (error: unknown) => deadCodes.has((error as { code?: unknown }).code),
  );
}

/** As `faultOf`, but raises when the server does not answer in time or answers with an error. */
async function probe({ host, port }: MysqlHost, { user, password }: Login, timeoutMs: number): Promise<string | undefined> {
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
    return await Promise.race([stateFault(ask), overdue]);
  } finally {
    clearTimeout(timer);
    connection.destroy();
  }
}

async function stateFault(ask: Ask): Promise<string | undefined> {
  const variables = await ask("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'read_only')");
  if (isOn(variables.get('read_only'))) return 'it is read-only';
  // A server without a cluster has no such variable, or has it off.
  if (!isOn(variables.get('wsrep_on'))) return undefined;
  const status = await ask("SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_local_state')");
  if (status.get('wsrep_cluster_status') !== 'Primary') return 'it is not in the primary part of its cluster';
  return isOn(status.get('wsrep_ready')) && status.get('wsrep_local_state') === synced ? undefined : 'it does not have all data of its cluster yet';
}

function isOn(value: string | undefined): boolean {
  return value?.toUpperCase() === 'ON';
}
