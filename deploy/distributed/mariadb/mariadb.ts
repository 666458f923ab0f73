// A private MariaDB from Debian's programs: its own data, its own socket, loopback only. It reads no configuration of the system,
// never meets the system's own server, and ends with the process that started it.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chownSync, closeSync, existsSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Logger } from '#kit/log.js';
import { adminUser, initSql, loadCredentials, type Credentials } from './credentials.js';
import { findProgram, prepareFolder, type RunAs } from './programs.js';
import { freePort, greets } from './readiness.js';

const startTimeoutMs = 60_000;
const stopTimeoutMs = 30_000;
const startAttemptsMax = 3;
const connectionsMax = 500;
const logLinesShownMax = 8;

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
  const programs = { mariadbd: findProgram('mariadbd'), install: findProgram('mariadb-install-db'), setpriv: findProgram('setpriv') };
  const runAs = prepareFolder(folder);
  const credentials = loadCredentials(join(folder, 'credentials.json'));
  installOnce(folder, programs.install, runAs);
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port || (await freePort());
    const server = launch(folder, port, programs, runAs, credentials);
    if (await cameUp(server)) {
      options.log.info({ port, pid: server.child.pid }, 'MariaDB started');
      return handle(server, port, credentials, options.log);
    }
    await end(server);
    const lines = lastLines(join(folder, 'mariadb.log'));
    // A free port can be taken by somebody else before the server listens on it.
    const lostPort = !options.port && lines.includes('Address already in use');
    if (!lostPort || attempt >= startAttemptsMax) throw new Error(`MariaDB did not start on ${folder}. Its last lines:\n${lines}`);
  }
}

interface Server {
  readonly child: ChildProcess;
  /** Holds the socket, in a folder of the system's for temporary files because the path of a socket is limited to 107 bytes. */
  readonly runFolder: string;
  readonly ended: Promise<void>;
}

// The system tables are made aside and renamed, so that an interrupted first start is simply done again.
function installOnce(folder: string, program: string, runAs: RunAs): void {
  const data = join(folder, 'data');
  if (existsSync(data)) return;
  const part = `${data}.part`;
  rmSync(part, { recursive: true, force: true });
  const result = spawnSync(program, ['--no-defaults', `--datadir=${part}`, '--skip-test-db', ...userOption(runAs)], {
    ...runAs,
    cwd: folder,
    encoding: 'utf8',
  });
  if (result.status !== 0) throw new Error(`mariadb-install-db failed on ${part}:\n${result.stderr || result.stdout || String(result.error)}`);
  renameSync(part, data);
}

function launch(folder: string, port: number, programs: { mariadbd: string; setpriv: string }, runAs: RunAs, credentials: Credentials): Server {
  const runFolder = mkdtempSync(join(tmpdir(), 'tollgate-db-'));
  const initFile = join(runFolder, 'init.sql');
  writeFileSync(initFile, initSql(credentials), { mode: 0o600 });
  for (const path of [runFolder, initFile]) {
    if (runAs.uid !== undefined && runAs.gid !== undefined) chownSync(path, runAs.uid, runAs.gid);
  }
  const logFile = openSync(join(folder, 'mariadb.log'), 'a', 0o600);
  // setpriv becomes mariadbd itself, and has the kernel end it when this process dies in any way.
  const child = spawn(
    programs.setpriv,
    [
      '--pdeathsig=TERM',
      programs.mariadbd,
      '--no-defaults',
      ...userOption(runAs),
      `--datadir=${join(folder, 'data')}`,
      `--socket=${join(runFolder, 's')}`,
      `--pid-file=${join(runFolder, 'pid')}`,
      `--init-file=${initFile}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      '--character-set-server=utf8mb4',
      '--collation-server=utf8mb4_bin',
      `--max-connections=${connectionsMax}`,
    ],
    // In a process group of its own, so that a terminal's Ctrl-C reaches only the process that started it, which ends it in its turn.
    { ...runAs, cwd: join(folder, 'data'), stdio: ['ignore', logFile, logFile], detached: true },
  );
  closeSync(logFile);
  const ended = new Promise<void>((done) => {
    child.once('exit', () => done());
    child.once('error', () => done());
  });
  return { child, runFolder, ended };
}

async function cameUp(server: Server): Promise<boolean> {
  const gaveUp = new AbortController();
  const timer = setTimeout(() => gaveUp.abort(), startTimeoutMs);
  void server.ended.then(() => gaveUp.abort());
  const greeted = await greets(join(server.runFolder, 's'), gaveUp.signal);
  clearTimeout(timer);
  // The passwords have been read by now.
  rmSync(join(server.runFolder, 'init.sql'), { force: true });
  return greeted;
}

function handle(server: Server, port: number, credentials: Credentials, log: MariadbOptions['log']): Mariadb {
  const urlFor = (user: string, schema: string): string => {
    const password = credentials[user];
    if (password === undefined) throw new Error(`MariaDB has no user ${user}.`);
    return `mysql://${user}:${password}@127.0.0.1:${port}/${schema}`;
  };
  let stopping = false;
  void server.ended.then(() => {
    rmSync(server.runFolder, { recursive: true, force: true });
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
      await end(server);
    },
    kill(signal) {
      stopping = true;
      server.child.kill(signal);
    },
  };
}

async function end(server: Server): Promise<void> {
  server.child.kill('SIGTERM');
  const timer = setTimeout(() => server.child.kill('SIGKILL'), stopTimeoutMs);
  await server.ended;
  clearTimeout(timer);
  rmSync(server.runFolder, { recursive: true, force: true });
}

// mariadbd refuses to run as root unless told that it is meant.
function userOption(runAs: RunAs): string[] {
  return process.getuid?.() === 0 && runAs.uid === undefined ? ['--user=root'] : [];
}

function lastLines(path: string): string {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-logLinesShownMax).join('\n');
}
