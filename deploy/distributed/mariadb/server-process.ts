// A mariadbd process on its own data folder. It ignores the system's configuration, and ends with the process that started it.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chownSync, closeSync, existsSync, mkdtempSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findProgram, type RunAs } from './programs.js';
import { waitForGreeting } from './readiness.js';

const stopTimeoutMs = 30_000;
const connectionsMax = 500;

/** Describes the server to run. */
export interface ServerSpec {
  /** Holds `data` and `mariadb.log`. */
  readonly folder: string;
  readonly port: number;
  readonly runAs: RunAs;
  /** Statements, one per line, that the server runs before it accepts queries. */
  readonly initSql: string;
  /** Options in addition to those that every private server has. */
  readonly extraOptions?: readonly string[];
  /** Folders to search before those in PATH, for programs that the server starts. */
  readonly pathBefore?: string;
}

/** A started process. */
export interface Server {
  readonly child: ChildProcess;
  /** Holds the socket. It is in the system's temporary folder, because the path of a socket is limited to 107 bytes. */
  readonly runFolder: string;
  /** Holds passwords until the server has read it: in the folder of the data, where the next start replaces it after a kill. */
  readonly initFile: string;
  readonly ended: Promise<void>;
}

/** Creates the system tables of a new data folder, under a temporary name at first, so that an interrupted first start can be repeated. */
export function installOnce(folder: string, runAs: RunAs): void {
  const data = join(folder, 'data');
  if (existsSync(data)) return;
  const program = findProgram('mariadb-install-db');
  const part = `${data}.part`;
  rmSync(part, { recursive: true, force: true });
  const result = spawnSync(program, ['--no-defaults', `--datadir=${part}`, '--skip-test-db'], {
    ...runAs,
    cwd: folder,
    // The program is a shell script that would split `--tmpdir` at a space, and with `--user` also the data folder.
    env: { ...process.env, TMPDIR: folder },
    encoding: 'utf8',
  });
  if (result.status !== 0)
    throw new Error(`mariadb-install-db failed on ${part}:\n${result.stderr || result.stdout || String(result.error)}`);
  renameSync(part, data);
}

/** Starts the server; `becameReady` waits until it is ready. */
export function launchServer({ folder, port, runAs, initSql, extraOptions = [], pathBefore }: ServerSpec): Server {
  const runFolder = mkdtempSync(join(tmpdir(), 'tollgate-db-'));
  const initFile = join(folder, 'init.sql');
  writeFileSync(initFile, initSql, { mode: 0o600 });
  for (const path of [runFolder, initFile]) {
    if (runAs.uid !== undefined && runAs.gid !== undefined) chownSync(path, runAs.uid, runAs.gid);
  }
  const logFile = openSync(join(folder, 'mariadb.log'), 'a', 0o600);
  // setpriv replaces itself with mariadbd, and has the kernel kill it when this process dies for any reason. Commits survive that; a server that gets SIGTERM
  // while it starts can hang forever, and the next one could not use its data.
  const child = spawn(
    findProgram('setpriv'),
    [
      '--pdeathsig=KILL',
      findProgram('mariadbd'),
      '--no-defaults',
      ...userOption(runAs),
      `--datadir=${join(folder, 'data')}`,
      `--socket=${join(runFolder, 's')}`,
      `--pid-file=${join(runFolder, 'pid')}`,
      // A server removes the temporary tables that it finds when it starts, those of other servers included.
      `--tmpdir=${runFolder}`,
      `--init-file=${initFile}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      '--character-set-server=utf8mb4',
      '--collation-server=utf8mb4_bin',
      `--max-connections=${connectionsMax}`,
      ...extraOptions,
    ],
    // A process group of its own, so that a terminal's Ctrl-C reaches only the process that started it, which then stops it.
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
  return { child, runFolder, initFile, ended };
}

/** Waits until the server is ready. Returns false if it has ended or `timeoutMs` is over before that. */
export async function becameReady(server: Server, timeoutMs: number): Promise<boolean> {
  const givingUp = new AbortController();
  const timer = setTimeout(() => givingUp.abort(), timeoutMs);
  void server.ended.then(() => givingUp.abort());
  const greeted = await waitForGreeting(join(server.runFolder, 's'), givingUp.signal);
  clearTimeout(timer);
  // The server has read the passwords.
  rmSync(server.initFile, { force: true });
  return greeted;
}

/** Shuts down the server cleanly, or kills it if that takes too long, and waits until it has ended. */
export async function endServer(server: Server): Promise<void> {
  server.child.kill('SIGTERM');
  const timer = setTimeout(() => server.child.kill('SIGKILL'), stopTimeoutMs);
  await server.ended;
  clearTimeout(timer);
}

/** Returns the option without which mariadbd refuses to run as root. */
function userOption(runAs: RunAs): string[] {
  return process.getuid?.() === 0 && runAs.uid === undefined ? ['--user=root'] : [];
}
