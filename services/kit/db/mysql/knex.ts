// Knex over MySQL, MariaDB, or the nodes of a Galera cluster, with the session variables that all of our statements rely on.
import createKnex, { type Knex } from 'knex';
import type { Logger } from '../../log.js';
import { type MysqlHost, parseMysqlUrl } from './address.js';
import { MysqlNodes } from './nodes.js';
import { isDead, type Login } from './probe.js';
import { SilenceWatch, type WatchedConnection } from './silence.js';
import { tlsOptions } from './tls.js';
import { type MeasuredPool, PoolMetrics } from '../statements/db-metrics.js';
import type { DbSystem } from '../engine.js';
import { retriedStatement } from '../plain/retries.js';
import { quietKnex } from '../quiet-knex.js';

const poolMaxDefault = 8;
// A server without a replacement is given more time.
const loneSilenceMs = 5000;
const loneProbeMs = 5000;

/** Options of a MySQL database. */
export interface MysqlOptions {
  /** Maximum number of connections. */
  readonly poolMax?: number;
  /** Logs when the process switches to another host of the address. */
  readonly log?: Pick<Logger, 'warn'>;
}

type MysqlConnection = WatchedConnection & { system?: DbSystem; destroy(): void };

/** The part of knex's client that is used here: how its pool opens a connection, and from which settings. */
interface MysqlClient {
  connectionSettings: object;
  system?: DbSystem;
  acquireRawConnection(): Promise<MysqlConnection>;
  acquireConnection(): Promise<unknown>;
  query(connection: unknown, statement: unknown): Promise<unknown>;
  readonly pool: MeasuredPool;
}

/** The connections of one database. */
export interface MysqlPools {
  readonly knex: Knex;
  /** For plain transactions: without autocommit, so that the first statement begins the transaction and no separate BEGIN is sent. */
  readonly transactions: Knex;
  close(): Promise<void>;
}

/** Opens the pools for a url that `parseMysqlUrl` accepts. */
export function openMysqlPools(url: string, { poolMax = poolMaxDefault, log }: MysqlOptions): MysqlPools {
  const { hosts, socketPath, user, password, database, tls } = parseMysqlUrl(url);
  const settings = {
    user,
    password,
    database,
    charset: 'utf8mb4_bin',
    timezone: 'Z',
    // Both: with the first alone small values are numbers and large ones strings.
    supportBigNumbers: true,
    bigNumberStrings: true,
    // Strings of several statements lose transactions on Galera and invite injection.
    multipleStatements: false,
    // When there is another host to switch to, a silent one is given less time.
    connectTimeout: hosts.length > 1 ? 2000 : 5000,
  };
  const login = { user, password, tls };
  const nodes = hosts.length > 1 ? new MysqlNodes(hosts, login, log) : undefined;
  // Behind a Unix socket the server cannot disappear without the system closing its connections.
  const watch = nodes ?? (socketPath === undefined ? watchOne(login, log) : undefined);
  const pools: PoolMetrics[] = [];
  const openPool = (name: string, sessionSettings: readonly string[]): Knex => {
    const knex = createKnex({
      ...quietKnex,
      client: 'mysql2',
      connection: { ...settings, ...(socketPath === undefined ? hosts[0] : { socketPath }) },
      pool: {
        min: 0,
        max: poolMax,
        // A connection that has been idle for 30 s is closed within this time; looking more often would wake idle processes.
        reapIntervalMillis: 15_000,
        // Connections to a node that was abandoned are discarded, even when it is back.
        ...(nodes === undefined ? {} : { validate: (connection: MysqlConnection) => nodes.isCurrent(connection.config) }),
      },
      // Finding a writable node takes time.
      acquireConnectionTimeout: nodes === undefined ? 5000 : 8000,
    });
    const client = knex.client as MysqlClient;
    const measured = new PoolMetrics(name, client.pool);
    pools.push(measured);
    const acquire = client.acquireConnection.bind(client);
    client.acquireConnection = () => measured.acquire(acquire);
    const connect = client.acquireRawConnection.bind(client);
    const open = async (): Promise<MysqlConnection> => {
      const connection = await connect();
      watch?.watch(connection);
      const system = await prepareSession(connection, sessionSettings).catch((error: unknown) => {
        connection.destroy();
        throw error;
      });
      connection.system = client.system = system;
      return connection;
    };
    // `connect` reads the settings synchronously, so that connections opened at the same time do not mix.
    const openAt = async (place: MysqlHost | { socketPath: string }): Promise<MysqlConnection> => {
      client.connectionSettings = { ...settings, ...place, ...tlsOptions(tls) };
      return open();
    };
    client.acquireRawConnection = (): Promise<MysqlConnection> =>
      nodes === undefined ? openAt(socketPath === undefined ? hosts[0]! : { socketPath }) : nodes.connect(openAt);
    return knex;
  };
  const knex = openPool(database, []);
  // A statement outside a transaction is a transaction of its own, which InnoDB may choose as the victim of a deadlock. Inside a transaction, knex uses
  // another client object (knex 3.3, lib/execution/transaction.js), so a single statement of a transaction is not retried.
  const client = knex.client as MysqlClient;
  const query = client.query.bind(client);
  client.query = (connection, statement) => retriedStatement(() => query(connection, statement));
  const transactions = openPool(`${database} transactions`, ['autocommit = 0']);
  return {
    knex,
    transactions,
    async close() {
      for (const pool of pools) pool.end();
      await Promise.all([knex.destroy(), transactions.destroy()]);
      watch?.close();
    },
  };
}

function watchOne(login: Login, log: MysqlOptions['log']): SilenceWatch {
  return new SilenceWatch({
    silenceMs: loneSilenceMs,
    isDead: (host) => isDead(host, login, loneProbeMs),
    onDead: (host, error) => log?.warn({ ...host, err: error }, 'the database is not responding; ending the statements that wait for it'),
  });
}

/** Sets the session variables. Returns the kind of server. */
async function prepareSession(connection: MysqlConnection, settings: readonly string[]): Promise<DbSystem> {
  const run = (sql: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      connection.query(sql, (error: Error | null, result: unknown) => (error === null ? resolve(result) : reject(error)));
    });
  await run('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
  await run("SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'");
  await run('SET SESSION innodb_lock_wait_timeout = 5');
  const rows = (await run("SHOW VARIABLES WHERE Variable_name IN ('version', 'wsrep_on')")) as { Variable_name: string; Value: string }[];
  const variables = new Map(rows.map(({ Variable_name: name, Value: value }) => [name, value]));
  // A Galera node applies the commits of other nodes a little later; with this setting it waits for them before it reads or changes rows,
  // so that no acknowledged write is missed after switching nodes.
  if (variables.get('wsrep_on') === 'ON') await run('SET SESSION wsrep_sync_wait = 7');
  for (const setting of settings) await run(`SET SESSION ${setting}`);
  return variables.get('version')?.includes('MariaDB') === true ? 'mariadb' : 'mysql';
}
