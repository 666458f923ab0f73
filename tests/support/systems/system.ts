// Runs a whole Tollgate for a test: one process on SQLite, or a process per service on MariaDB. Tests use both in the same way.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CommandResult, runCommand } from '../clients/command-runner.js';
import { freePort, freePorts } from './ports.js';
import { type Child, eventually, isAlive, NeverWill, startScript } from './process.js';
import { copySystemTables } from '../jest/system-tables.js';

/** The two modes. */
export type Mode = 'single' | 'distributed';

/** The modes to test, for `describe.each(modes)`; TOLLGATE_TEST_MODES selects some. */
export const modes: readonly Mode[] = (process.env['TOLLGATE_TEST_MODES']?.split(',') as Mode[] | undefined) ?? ['single', 'distributed'];

/** The modes for tests of pages, whose data other tests check in both modes: the first one, or all with TOLLGATE_TEST_BROWSER_MODES=all. */
export const browserModes: readonly Mode[] = process.env['TOLLGATE_TEST_BROWSER_MODES'] === 'all' ? modes : modes.slice(0, 1);

/** TOLLGATE_TEST_GATEWAY_THREADS runs the tests of the single mode with this many gateway threads; otherwise they have none on any machine. */
const gatewayThreads = { TOLLGATE_GATEWAY_THREADS: process.env['TOLLGATE_TEST_GATEWAY_THREADS'] ?? '0' };

/** How many ports the distributed mode needs besides the public one: five services, three nodes of Galera, and Redis. */
const distributedPorts = 9;

const scripts: Record<Mode, string> = {
  single: 'dist/deploy/single/main.js',
  distributed: 'dist/deploy/distributed/main.js',
};

/** A running Tollgate. */
export interface System {
  readonly mode: Mode;
  /** Address without a trailing slash and without /v1. */
  readonly baseUrl: string;
  readonly dataDir: string;
  /** The secret of the key that the first start created. A restored data folder has none. */
  readonly firstKey: string;
  /** Returns everything that was printed since the last start. */
  output(): string;
  /** Pid of the single process, or of the launcher. */
  pid(): number;
  /** Runs the operator's command. Throws its stderr if it fails. */
  cli(...args: string[]): Promise<string>;
  /** Runs the operator's command with --json. Returns the parsed output. */
  json<T = Record<string, unknown>>(...args: string[]): Promise<T>;
  /** Runs the operator's command. Returns its result even if it fails. */
  tryCli(...args: string[]): Promise<CommandResult>;
  /** The environment with which the operator's command connects to this system. */
  operatorEnv(): Record<string, string>;
  /** Sends SIGKILL to the whole system, as in a power cut. */
  kill(): Promise<void>;
  /** Restarts the system on the same data and address. */
  start(): Promise<void>;
  /** Stops the system as an operator does, and waits until it has ended. Returns its exit code. */
  end(): Promise<number | null>;
  /** Stops everything and removes the data. */
  stop(): Promise<void>;
}

/** Starts a Tollgate on a new data folder below `folder` and waits until it serves calls. */
export async function startSystem(mode: Mode, env: Record<string, string> = {}, folder = tmpdir()): Promise<System> {
  const dataDir = mkdtempSync(join(folder, 'tollgate-e2e-'));
  if (mode === 'distributed') copySystemTables(join(dataDir, 'mariadb'));
  return startSystemOn(dataDir, mode, env);
}

/** Starts a Tollgate on this data folder, for example a restored one, and waits until it serves calls. */
export async function startSystemOn(dataDir: string, mode: Mode, env: Record<string, string> = {}): Promise<System> {
  const port = Number(env['PORT'] ?? (await freePort()));
  const baseUrl = `http://${env['TOLLGATE_GATEWAY_HOST'] ?? '127.0.0.1'}:${port}`;
  const settings = {
    PORT: String(port),
    TOLLGATE_DATA_DIR: dataDir,
    // Frozen messages make a service fail that changes what another one also holds.
    ...(mode === 'distributed'
      ? { TOLLGATE_DISTRIBUTED_FIRST_PORT: String(await freePorts(distributedPorts)) }
      : { TOLLGATE_SINGLE_MESSAGES: 'frozen', ...gatewayThreads }),
    ...env,
  };
  let child: Child;

  async function start(): Promise<void> {
    child = startScript(scripts[mode], [], settings);
    await eventually(async () => {
      if (child.process.exitCode !== null) throw new NeverWill(`it exited with ${child.process.exitCode}`);
      const response = await fetch(`${baseUrl}/readyz`);
      return response.status === 200 && child.stdout().includes('is ready') ? true : undefined;
    }, 120_000).catch((error: Error) => {
      child.process.kill('SIGKILL');
      throw new Error(`Tollgate did not become ready: ${error.message}\n${child.stdout()}\n${child.stderr()}`);
    });
  }

  const environment = (): Record<string, string> => ({ ...settings, ...operatorEnv(dataDir) });

  const tryCli = (...args: string[]): Promise<CommandResult> => runCommand(args, environment());

  async function cli(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await tryCli(...args);
    if (code !== 0) throw new Error(`tollgate ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  }

  await start();
  return {
    mode,
    baseUrl,
    dataDir,
    get firstKey() {
      return readFileSync(join(dataDir, 'first-key'), 'utf8').trim();
    },
    output: () => child.stdout() + child.stderr(),
    pid: () => child.process.pid!,
    cli,
    tryCli,
    operatorEnv: environment,
    json: async (...args) => JSON.parse(await cli(...args, '--json')),
    async kill() {
      await killSystem(mode, dataDir, child);
    },
    start,
    end: () => child.end('SIGTERM'),
    async stop() {
      await child.end('SIGTERM');
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Returns the log of the gateway: of the single process, since its start, or of the gateway's own process. */
export function gatewayLog(of: System): string {
  return of.mode === 'single' ? of.output() : readFileSync(join(of.dataDir, 'logs', 'gateway.log'), 'utf8');
}

/** Returns the logs of all processes. */
export function allLogs(of: System): string {
  if (of.mode === 'single') return of.output();
  const folder = join(of.dataDir, 'logs');
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
}

/** Returns the settings of the command that a Tollgate writes into its data folder. */
function operatorEnv(dataDir: string): Record<string, string> {
  const lines = readFileSync(join(dataDir, 'operator.env'), 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
}

async function killSystem(mode: Mode, dataDir: string, child: Child): Promise<void> {
  if (mode === 'distributed') {
    const { pids } = JSON.parse(readFileSync(join(dataDir, 'processes.json'), 'utf8')) as { pids: Record<string, number> };
    // The launcher first, so that it does not restart the others.
    await child.end('SIGKILL');
    // The process may already have ended.
    for (const pid of Object.values(pids).filter(isAlive)) process.kill(pid, 'SIGKILL');
    await eventually(() => (Object.values(pids).every((pid) => !isAlive(pid)) ? true : undefined));
    return;
  }
  await child.end('SIGKILL');
}
