// A private MariaDB, run from Debian's programs, with its own data and socket, on loopback only. It ignores the system's configuration,
// never interferes with the system's own server, and ends with the process that started it.
import { join, resolve } from 'node:path';
import type { Logger } from '#kit/log.js';
import { freePort } from '../free-port.js';
import { adminUser, backupUser, initSql, loadCredentials, migrationUser, type Credentials } from './credentials.js';
import { prepareFolder } from './programs.js';
import { lastLines } from '../processes/last-lines.js';
import { becameReady, endServer, installOnce, launchServer, type Server } from './server-process.js';

const startTimeoutMs = 60_000;
const startAttemptsMax = 3;

/** Options of `startMariadb`. */
export interface MariadbOptions {
  /** A folder used only by this server; created if missing. */
  dataDir: string;
  /** TCP port on 127.0.0.1; a free one is chosen if 0 or absent. */
  port?: number;
  /** Options of the server in addition to those that every private server has. */
  extraOptions?: readonly string[];
  log: Pick<Logger, 'info' | 'error'>;
}

/** A running server. */
export interface Mariadb {
  /** Returns the URL of a service's schema (see `schemas`) for `openDatabase`, with a user that has access to its rows only. */
  url(schema: string): string;
  /** Returns the URL of a service's schema with the user for its migrations. */
  migrationUrl(schema: string): string;
  /** URL, without a schema, of a user with all privileges, including creating schemas. */
  readonly adminUrl: string;
  /** URL, without a schema, of the user for backups. */
  readonly backupUrl: string;
  readonly port: number;
  readonly pid: number;
  /** Shuts down the server cleanly and waits until it has ended. */
  stop(): Promise<void>;
  /** Sends a signal to the server; used by recovery tests. */
  kill(signal: NodeJS.Signals): void;
  /** Settles when the server has ended for any reason. */
  readonly ended: Promise<void>;
}

/**
 * Starts a server on the data folder, which is initialized if it is new. Every commit is durable (InnoDB's default). Raises an
 * Error with the last lines of the server's log if it does not start.
 */
export async function startMariadb(options: MariadbOptions): Promise<Mariadb> {
  const folder = resolve(options.dataDir);
  const runAs = prepareFolder(folder);
  const credentials = loadCredentials(join(folder, 'credentials.json'));
  installOnce(folder, runAs);
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port || (await freePort());
    const server = launchServer({ folder, port, runAs, initSql: initSql(credentials), extraOptions: options.extraOptions ?? [] });
    if (await becameReady(server, startTimeoutMs)) {
      options.log.info({ port, server_pid: server.child.pid }, 'MariaDB started');
      return handle(server, port, credentials, options.log);
    }
    await endServer(server);
    const lines = lastLines(join(folder, 'mariadb.log'));
    // Another process can take a free port before the server listens on it.
    const lostPort = !options.port && lines.includes('Address already in use');
    // The server waits 30 seconds for an earlier one on the same data, which can take longer to write its pages before it ends.
    const isInUse = /already have another mariadbd process|Unknown storage engine 'Aria'/.test(lines);
    if (!(lostPort || isInUse) || attempt >= startAttemptsMax)
      throw new Error(`MariaDB did not start on ${folder}. The last lines of its log:\n${lines}`);
  }
}

/** Options with which the server writes binary logs into its data folder: durable with each commit, kept for a week. */
export const binaryLogOptions: readonly string[] = [
  '--log-bin=binlog',
  '--server-id=1',
  '--binlog-format=ROW',
  '--sync-binlog=1',
  '--expire-logs-days=7',
];

function handle(server: Server, port: number, credentials: Credentials, log: MariadbOptions['log']): Mariadb {
  const urlFor = (user: string, schema: string): string => {
    const password = credentials[user];
    if (password === undefined) throw new Error(`MariaDB has no user ${user}.`);
    return `mysql://${user}:${password}@127.0.0.1:${port}/${schema}`;
  };
  let stopping = false;
  void server.ended.then(() => {
    if (!stopping) log.error({ port, signal: server.child.signalCode, code: server.child.exitCode }, 'MariaDB exited unexpectedly');
  });
  return {
    url: (schema) => urlFor(schema, schema),
    migrationUrl: (schema) => urlFor(migrationUser(schema), schema),
    adminUrl: urlFor(adminUser, ''),
    backupUrl: urlFor(backupUser, ''),
    port,
    pid: server.child.pid!,
    ended: server.ended,
    async stop() {
      stopping = true;
      await endServer(server);
    },
    kill(signal) {
      stopping = true;
      server.child.kill(signal);
    },
  };
}
