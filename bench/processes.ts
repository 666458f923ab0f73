// Starts and stops the measured processes, and reads the CPU time that they have used.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Relay } from './baselines.ts';

/** A server that can be called and measured. */
export interface Contender {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The processes whose CPU counts. */
  readonly pids: readonly number[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const readyWithinMs = 60_000;
const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const children: ChildProcess[] = [];
const folders: string[] = [];

// Cleans up regardless of how the run ends.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Stops all processes and removes their data. */
export async function stopAll(): Promise<void> {
  for (const child of children.splice(0).reverse()) {
    if (child.exitCode !== null) continue;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** Returns the CPU time that these processes have used, in microseconds: user and system, all threads (proc_pid_stat(5), fields 14 and 15). */
export function cpuMicroseconds(pids: readonly number[]): number {
  let ticks = 0;
  for (const pid of pids) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return (ticks * 1_000_000) / ticksPerSecond;
}

/** Starts the vendor. Its URL is that of chat completions. */
export function startUpstream(): Promise<Contender> {
  return startSmall(['bench/upstream.ts'], '/v1/chat/completions');
}

/** Starts a relay in front of the vendor. */
export function startRelay(relay: Relay, upstream: Contender): Promise<Contender> {
  return startSmall(['bench/baselines.ts', relay, upstream.url], '/');
}

/** Returns the contender with the URL of messages. */
export function atMessages(contender: Contender): Contender {
  return { ...contender, url: new URL('/v1/messages', contender.url).href };
}

/** Starts a Tollgate on new data, with the vendor as its managed upstreams, called with a key that has a limit. */
export async function startTollgate(mode: 'single' | 'distributed', upstream: Contender): Promise<Contender> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
  folders.push(dataDir);
  const env = {
    ...cleanEnv(),
    TOLLGATE_DATA_DIR: dataDir,
    TOLLGATE_STARTING_BALANCE_USD: '100000',
    OPENAI_API_KEY: 'sk-bench',
    OPENAI_BASE_URL: new URL('/v1', upstream.url).href,
    ANTHROPIC_API_KEY: 'sk-bench',
    ANTHROPIC_BASE_URL: new URL('/v1', upstream.url).href,
    ...(mode === 'distributed' ? { TOLLGATE_DISTRIBUTED_FIRST_PORT: '0' } : {}),
  };
  const child = start([`dist/deploy/${mode}/main.js`], { ...env, PORT: '0' });
  let output = '';
  child.stdout!.on('data', (chunk) => (output += output.length < 10_000 ? chunk : ''));
  const baseUrl = await eventually(() => /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]);
  await eventually(async () => ((await fetch(`${baseUrl}/readyz`).catch(() => undefined))?.status === 200 ? true : undefined));
  const operator = mode === 'single' ? {} : operatorEnv(dataDir);
  const made = execFileSync(process.execPath, ['dist/cli/main.js', 'key', 'create', '--name', 'bench', '--limit', '50000', '--json'], {
    cwd: root,
    env: { ...env, ...operator },
    encoding: 'utf8',
  });
  const { secret } = JSON.parse(made) as { secret: string };
  return {
    url: `${baseUrl}/v1/chat/completions`,
    headers: { authorization: `Bearer ${secret}` },
    pids: mode === 'single' ? [child.pid!] : servicePids(dataDir),
  };
}

function operatorEnv(dataDir: string): Record<string, string> {
  const lines = readFileSync(join(dataDir, 'operator.env'), 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

function servicePids(dataDir: string): number[] {
  const { pids } = JSON.parse(readFileSync(join(dataDir, 'processes.json'), 'utf8')) as { pids: Record<string, number> };
  return Object.entries(pids).flatMap(([name, pid]) => (name === 'mariadb' ? [] : [pid]));
}

async function startSmall(args: readonly string[], path: string): Promise<Contender> {
  const child = start(args, cleanEnv());
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string];
  const { port } = JSON.parse(line) as { port: number };
  return { url: `http://127.0.0.1:${port}${path}`, headers: {}, pids: [child.pid!] };
}

function start(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  child.once('exit', (code) => {
    if (children.includes(child)) throw new Error(`${args.join(' ')} ended with ${code}.`);
  });
  children.push(child);
  return child;
}

/** Returns our environment without Tollgate and vendor settings. */
function cleanEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TOLLGATE_|OTEL_|OPENAI_|ANTHROPIC_|PORT$|NODE_OPTIONS$)/.test(name)),
  );
}

async function eventually<T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (const untilMs = Date.now() + readyWithinMs; Date.now() < untilMs; await sleep(50)) {
    const seen = await look();
    if (seen !== undefined) return seen;
  }
  throw new Error('Tollgate did not become ready.');
}
