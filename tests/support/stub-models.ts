// Adds the stub upstream to a system: its upstreams and models, with the operator's command.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './clients/command-runner.js';
import type { System } from './systems/system.js';
import type { WireName } from '../upstream/answers/answers.js';

/** Prices of the stub's models, in nano-USD per token. */
export const stubPrices = { input: 1000n, cacheRead: 100n, cacheWrite5m: 1250n, cacheWrite1h: 2000n, output: 5000n } as const;

/** Adds an upstream with a private address. Its secret is passed on standard input. */
export async function addUpstream(
  system: System,
  id: string,
  format: WireName,
  baseUrl: string,
  secret: string,
  ...options: readonly string[]
): Promise<void> {
  const args = ['upstream', 'add', id, '--format', format, '--base-url', baseUrl, '--allow-private-network', '--secret-stdin', ...options];
  const { code, stderr } = await runCommand(args, system.operatorEnv(), `${secret}\n`);
  if (code !== 0) throw new Error(stderr);
}

/** Adds a model that has another name at its upstream, at `stubPrices`. `fields` override its defaults. */
export async function addModel(
  system: System,
  id: string,
  upstream: string,
  upstreamModel: string,
  fields: Record<string, unknown> = {},
): Promise<void> {
  const path = join(system.dataDir, 'model.json');
  const model = {
    id,
    display_name: id,
    context_limit_tokens: 100_000,
    output_limit_tokens: 4000,
    input_modalities: ['text'],
    output_modalities: ['text'],
    capabilities: ['tools', 'reasoning', 'sampling', 'structured_output'],
    targets: [{ upstream_id: upstream, upstream_model: upstreamModel }],
    tokenizer: 'o200k',
    state: 'active',
    ...fields,
  };
  writeFileSync(path, JSON.stringify(model));
  await system.cli('model', 'put', path);
  await system.cli(
    'price',
    'publish',
    id,
    '--input',
    '1',
    '--cache-read',
    '0.1',
    '--cache-write-5m',
    '1.25',
    '--cache-write-1h',
    '2',
    '--output',
    '5',
  );
}
