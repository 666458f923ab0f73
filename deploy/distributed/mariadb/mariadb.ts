// A private MariaDB from Debian's programs: its own data, its own socket, loopback only. It reads no configuration of the system,
// never meets the system's own server, and ends with the process that started it.
import { join, resolve } from 'node:path';
import type { Logger } from '#kit/log.js';
import { freePort } from '../free-port.js';
import { adminUser, initSql, loadCredentials, type Credentials } from './credentials.js';
import { prepareFolder } from './programs.js';
import { cameUp, endServer, installOnce, lastLines, launchServer, type Server } from './server-process.js';

const startTimeoutMs = 60_000;
const startAttemptsMax = 3;

/** Options of `startMariadb`. */
export interface MariadbOptions {
  /** A folder for this server alone; made when absent. */
  dataDir: string;
  /** TCP port of 127.0.0.1; 0 or absent: any free one. */
  port?: number;
  log: Pick<Logger, 'info' | 'error'>;
}

/** A running server. */
export interface Mariadb {
  /** For `openDatabase`: the schema of a service (see `schemas`), as a user who sees no other. */
  url(schema: string): string;
  /** A user with all rights, creating schemas included; names no schema. */
  readonly adminUrl: string;
  readonly port: number;
  readonly pid: number;
  /** Shuts down cleanly and waits for the end. */
  stop(): Promise<void>;
  /** Sends a signal, for tests of recovery. */
  kill(signal: NodeJS.Signals): void;
  /** Settles when the server has ended, for whatever reason. */
  readonly ended: Promise<void>;
}

/**
 * Starts a server on the data folder, which is prepared when it is new. Every commit is durable (InnoDB's default). Raises an
 * Error with the server's last lines when it does not come up.
 */
export async function startMariadb(options: MariadbOptions): Promise<Mariadb> {
  const folder = resolve(options.dataDir);
  const runAs = prepareFolder(folder);
  const credentials = loadCredentials(join(folder, 'credentials.json'));
  installOnce(folder, runAs);
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port || (await freePort());
    const server = launchServer({ folder, port, runAs, initSql: initSql(credentials) });
    if (await cameUp(server, startTimeoutMs)) {
      options.log.info({ port, pid: server.child.pid }, 'MariaDB started');
      return handle(server, port, credentials, options.log);
    }
    await endServer(server);
    const lines = lastLines(join(folder, 'mariadb.log'));
    // A free port can be taken by somebody else before the server listens on it.
    const lostPort = !options.port && lines.includes('Address already in use');
    if (!lostPort || attempt >= startAttemptsMax) throw new Error(`MariaDB did not start on ${folder}. Its last lines:\n${lines}`);
  }
}

function handle(server: Server, port: number, credentials: Credentials, log: MariadbOptions['log']): Mariadb {
  const urlFor = (user: string, schema: string): string => {
    const password = credentials[user];
    if (password === undefined) throw new Error(`MariaDB has no user ${user}.`);
    return `mysql://${user}:${password}@127.0.0.1:${port}/${schema}`;
  };
  let stopping = false;
  void server.ended.then(() => {
    if (!stopping) log.error({ port, signal: server.child.signalCode, code: server.child.exitCode }, 'MariaDB ended unasked');
  });
  return {
    url: (schema) => urlFor(schema, schema),
    adminUrl: urlFor(adminUser, ''),
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
