// One mariadbd process on a data folder of its own. It reads no configuration of the system, and ends with the process that started it.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chownSync, closeSync, existsSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findProgram, type RunAs } from './programs.js';
import { greets } from './readiness.js';

const stopTimeoutMs = 30_000;
const connectionsMax = 500;
const logLinesShownMax = 8;

/** What to run. */
export interface ServerSpec {
  /** Holds `data` and `mariadb.log`. */
  readonly folder: string;
  readonly port: number;
  readonly runAs: RunAs;
  /** Statements, one a line, that the server runs before it answers. */
  readonly initSql: string;
  /** Options beside those that every server of ours has. */
  readonly extraOptions?: readonly string[];
  /** Folders before those of PATH, for programs that the server starts. */
  readonly pathBefore?: string;
}

/** A started process. */
export interface Server {
  readonly child: ChildProcess;
  /** Holds the socket, in a folder of the system's for temporary files because the path of a socket is limited to 107 bytes. */
  readonly runFolder: string;
  readonly ended: Promise<void>;
}

/** Makes the system tables of a new data folder. They are made aside and renamed, so that an interrupted first start is simply done again. */
export function installOnce(folder: string, runAs: RunAs): void {
  const data = join(folder, 'data');
  if (existsSync(data)) return;
  const program = findProgram('mariadb-install-db');
  const part = `${data}.part`;
  rmSync(part, { recursive: true, force: true });
  const result = spawnSync(program, ['--no-defaults', `--datadir=${part}`, '--skip-test-db', ...userOption(runAs)], {
    ...runAs,
    cwd: folder,
    encoding: 'utf8',
  });
  if (result.status !== 0)
    throw new Error(`mariadb-install-db failed on ${part}:\n${result.stderr || result.stdout || String(result.error)}`);
  renameSync(part, data);
}

/** Starts the server; `cameUp` tells when it answers. */
export function launchServer({ folder, port, runAs, initSql, extraOptions = [], pathBefore }: ServerSpec): Server {
  const runFolder = mkdtempSync(join(tmpdir(), 'tollgate-db-'));
  const initFile = join(runFolder, 'init.sql');
  writeFileSync(initFile, initSql, { mode: 0o600 });
  for (const path of [runFolder, initFile]) {
    if (runAs.uid !== undefined && runAs.gid !== undefined) chownSync(path, runAs.uid, runAs.gid);
  }
  const logFile = openSync(join(folder, 'mariadb.log'), 'a', 0o600);
  // setpriv becomes mariadbd itself, and has the kernel end it when this process dies in any way.
  const child = spawn(
    findProgram('setpriv'),
    [
      '--pdeathsig=TERM',
      findProgram('mariadbd'),
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
      ...extraOptions,
    ],
    // In a process group of its own, so that a terminal's Ctrl-C reaches only the process that started it, which ends it in its turn.
    {
      ...runAs,
      cwd: join(folder, 'data'),
      env: { ...process.env, PATH: [pathBefore, process.env['PATH']].filter((path) => path !== undefined).join(delimiter) },
      stdio: ['ignore', logFile, logFile],
      detached: true,
    },
  );
  closeSync(logFile);
  const ended = new Promise<void>((done) => {
    child.once('exit', () => {
      rmSync(runFolder, { recursive: true, force: true });
      done();
    });
    child.once('error', () => done());
  });
  return { child, runFolder, ended };
}

/** Whether the server answers before the time is over or it ends. */
export async function cameUp(server: Server, timeoutMs: number): Promise<boolean> {
  const gaveUp = new AbortController();
  const timer = setTimeout(() => gaveUp.abort(), timeoutMs);
  void server.ended.then(() => gaveUp.abort());
  const greeted = await greets(join(server.runFolder, 's'), gaveUp.signal);
  clearTimeout(timer);
  // The passwords have been read by now.
  rmSync(join(server.runFolder, 'init.sql'), { force: true });
  return greeted;
}

/** Shuts the server down cleanly, or by force when that takes too long, and waits for its end. */
export async function endServer(server: Server): Promise<void> {
  server.child.kill('SIGTERM');
  const timer = setTimeout(() => server.child.kill('SIGKILL'), stopTimeoutMs);
  await server.ended;
  clearTimeout(timer);
}

/** mariadbd refuses to run as root unless told that it is meant. */
function userOption(runAs: RunAs): string[] {
  return process.getuid?.() === 0 && runAs.uid === undefined ? ['--user=root'] : [];
}

/** The end of a log. */
export function lastLines(path: string): string {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-logLinesShownMax).join('\n');
}
