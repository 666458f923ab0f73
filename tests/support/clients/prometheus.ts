// Prometheus and promtool of the system, on the configuration of deploy/observability.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort, root } from '../systems/process.js';

/** The folder with the configuration and the rules. */
export const prometheusFolder = join(root, 'deploy/observability/prometheus');

/** Where scripts/install/prometheus.sh puts the programs. */
const env = { ...process.env, PATH: `${join(root, '.toolchain/bin')}:${process.env['PATH']}` };

/** Runs promtool. Returns its exit code and what it printed. */
export function promtool(args: readonly string[], input = ''): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('promtool', args, { cwd: prometheusFolder, env });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

/** A running Prometheus. */
export interface Prometheus {
  /** Calls its API: "query?query=up". Throws the error that it reports. */
  get<T>(path: string): Promise<T>;
  stop(): Promise<void>;
}

/** Starts a Prometheus that scrapes these addresses every second, and waits until it has scraped each of them. */
export async function startPrometheus(targets: readonly string[]): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-prometheus-'));
  const config = readFileSync(join(prometheusFolder, 'prometheus.yaml'), 'utf8')
    .replaceAll('15s', '1s')
    .replace("['127.0.0.1:9464']", JSON.stringify(targets))
    .replace(/^alerting:\n(?: .*\n)+/m, '')
    .replace('tollgate.rules.yaml', join(prometheusFolder, 'tollgate.rules.yaml'));
  writeFileSync(join(folder, 'prometheus.yaml'), config);
  const port = await freePort();
  const child = spawn(
    'prometheus',
    [
      `--config.file=${folder}/prometheus.yaml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { env, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += chunk));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const get = async <T>(path: string): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    const { status, data, error } = (await response.json()) as { status: string; data: T; error?: string };
    if (status !== 'success') throw new Error(`${path}: ${error}`);
    return data;
  };
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await eventually(async () => {
      const { result } = await get<{ result: unknown[] }>('query?query=up==1');
      return result.length === targets.length ? true : undefined;
    });
  } catch (error) {
    await stop();
    throw new Error(`Prometheus did not scrape every process: ${errors}`, { cause: error });
  }
  return { get, stop };
}
