// Starts and stops the measured processes on the cores that they may use.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Relay } from './baselines.ts';

/** A server that can be called and measured. */
export interface Contender {
  readonly name: string;
  /** For example http://127.0.0.1:8080. */
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The processes whose CPU counts, by name. */
  readonly pids: Readonly<Record<string, number>>;
  /** Database servers, whose CPU is shown separately. */
  readonly databasePids?: Readonly<Record<string, number>>;
  /** How long work continues after the last answer: settlements and the roll-up of usage records. */
  readonly tailMs: number;
  /** Set if it does not run on Node, so that its live memory cannot be read: the signal for the inspector would end it. */
  readonly isForeign?: boolean;
  /** Set if it may use the cores of the load as well, because the machine has only two. */
  readonly sharesCores?: boolean;
}

/** Which cores the processes use, as taskset writes them. */
export interface Cores {
  readonly one: string;
  readonly two: string;
  readonly load: string;
}

export const root = fileURLToPath(new URL('..', import.meta.url));
const readyWithinMs = 300_000;
// Records are rolled up every five seconds (TOLLGATE_METERING_FOLD_INTERVAL).
const tollgateTailMs = 5500;
const tmpfsMagic = 0x01021994;
const children: ChildProcess[] = [];
const folders: string[] = [];

/** The load, the vendor and database servers have cores of their own where there are four. */
export const cores: Cores = {
  one: '0',
  two: '0,1',
  load: availableParallelism() >= 4 ? '2,3' : '1',
};

// Cleans up regardless of how the run ends.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stopAll().finally(() => process.exit(130)));

/** Moves a process with all its threads to these cores. */
export function pin(pid: number, to: string): void {
  execFileSync('taskset', ['-apc', to, String(pid)], { stdio: 'ignore' });
}

/** Stops all processes and removes their data. */
export async function stopAll(): Promise<void> {
  for (const child of children.splice(0).reverse()) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGTERM');
    const ended = once(child, 'exit');
    if ((await Promise.race([ended, sleep(40_000)])) === undefined) child.kill('SIGKILL');
    await ended;
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** Creates a folder for data below ./data. Throws on a tmpfs, where syncs cost nothing. */
export function newFolder(name: string): string {
  const parent = join(root, 'data');
  mkdirSync(parent, { recursive: true });
  if (statfsSync(parent).type === tmpfsMagic) throw new Error(`${parent} is on a tmpfs, where writes are not durable.`);
  const folder = mkdtempSync(join(parent, `bench-${name}-`));
  folders.push(folder);
  return folder;
}

/** Starts the vendor, on the cores of the load. */
export async function startUpstream(): Promise<Contender> {
  return startSmall('no relay', ['bench/upstream.ts'], cores.load, 'vendor');
}

/** Starts a relay in front of the vendor. */
export async function startRelay(name: string, relay: Relay, upstream: Contender): Promise<Contender> {
  return startSmall(name, ['bench/baselines.ts', relay, new URL(upstream.origin).port], cores.one, 'relay');
}

/** Variants of Tollgate. */
export interface TollgateOptions {
  readonly name: string;
  readonly mode?: 'single' | 'distributed';
  readonly cores?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it has the model bench/responses. */
  readonly hasResponses?: boolean;
}

/** Starts a Tollgate on new data, with the vendor as its upstreams, called with a key that has a limit. */
export async function startTollgate(
  upstream: Contender,
  { name, mode = 'single', cores: where = cores.one, env = {}, hasResponses = false }: TollgateOptions,
): Promise<Contender> {
  const dataDir = newFolder(mode);
  const all = {
    ...cleanEnv(),
    TOLLGATE_DATA_DIR: dataDir,
    TOLLGATE_LAME_DUCK: '0s',
    TOLLGATE_STARTING_BALANCE_USD: '100000',
    OPENAI_API_KEY: 'sk-bench',
    OPENAI_BASE_URL: `${upstream.origin}/v1`,
    ANTHROPIC_API_KEY: 'sk-bench',
    ANTHROPIC_BASE_URL: `${upstream.origin}/v1`,
    ...(mode === 'distributed' ? { TOLLGATE_DISTRIBUTED_FIRST_PORT: '0' } : {}),
    ...env,
  };
  // As `make run` and `make run-distributed` start it.
  const flags = mode === 'single' ? ['--use-largepages=silent'] : [];
  const child = start(process.execPath, [...flags, `dist/deploy/${mode}/main.js`], where, { ...all, PORT: '0' });
  const origin = await originOf(child, /http:\/\/127\.0\.0\.1:\d+/);
  await ready(`${origin}/readyz`);
  const operator = mode === 'single' ? {} : operatorEnv(dataDir);
  const cli = (...args: string[]): string =>
    execFileSync(process.execPath, ['dist/cli/main.js', ...args], { cwd: root, env: { ...all, ...operator }, encoding: 'utf8' });
  const made = cli('key', 'create', '--name', 'bench', '--limit', '50000', '--json');
  if (hasResponses) {
    cli(
      'upstream',
      'add',
      'bench',
      '--format',
      'responses',
      '--base-url',
      `${upstream.origin}/v1`,
      '--allow-private-network',
      '--no-secret',
    );
    cli('model', 'import', '--from-upstream', 'bench', '--context', '1000000', '--input', '0.4', '--output', '1.6');
  }
  const { secret } = JSON.parse(made) as { secret: string };
  const contender = {
    name,
    origin,
    headers: { authorization: `Bearer ${secret}` },
    tailMs: tollgateTailMs,
    sharesCores: where !== cores.one,
  };
  if (mode === 'single') return { ...contender, pids: { tollgate: child.pid! } };
  const { pids } = JSON.parse(readFileSync(join(dataDir, 'processes.json'), 'utf8')) as { pids: Record<string, number> };
  const { mariadb, ...services } = pids;
  pin(mariadb!, cores.load);
  return { ...contender, pids: services, databasePids: { mariadb: mariadb! } };
}

function operatorEnv(dataDir: string): Record<string, string> {
  const lines = readFileSync(join(dataDir, 'operator.env'), 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

async function startSmall(name: string, args: readonly string[], where: string, label: string): Promise<Contender> {
  const child = start(process.execPath, args, where, cleanEnv());
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string];
  const { port } = JSON.parse(line) as { port: number };
  return { name, origin: `http://127.0.0.1:${port}`, headers: {}, pids: { [label]: child.pid! }, tailMs: 0 };
}

/** Starts a program that is stopped at the end of the run. Its unexpected end ends the run. */
export function start(program: string, args: readonly string[], where: string, env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn('taskset', ['-c', where, program, ...args], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  child.once('exit', (code, signal) => {
    if (children.includes(child)) throw new Error(`${program} ${args.join(' ')} ended with ${code ?? signal}.`);
  });
  children.push(child);
  return child;
}

/** Waits for the address that the program prints. */
async function originOf(child: ChildProcess, pattern: RegExp): Promise<string> {
  let output = '';
  child.stdout!.on('data', (chunk) => (output += output.length < 10_000 ? chunk : ''));
  return eventually(() => pattern.exec(output)?.[0]);
}

/** Waits until a GET of the address succeeds. */
export async function ready(url: string): Promise<void> {
  await eventually(async () => ((await fetch(url).catch(() => undefined))?.ok === true ? true : undefined));
}

/** Returns our environment without settings of Tollgate, vendors and Node. */
export function cleanEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TOLLGATE_|OTEL_|OPENAI_|ANTHROPIC_|PORT$|NODE_OPTIONS$)/.test(name)),
  );
}

async function eventually<T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (const untilMs = Date.now() + readyWithinMs; Date.now() < untilMs; await sleep(50)) {
    const seen = await look();
    if (seen !== undefined) return seen;
  }
  throw new Error('A contender did not become ready.');
}
