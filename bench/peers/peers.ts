// Other gateways in front of the same vendor, as far as install.sh has installed them, each with the keys and accounting that it has without a
// database.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Contender, cleanEnv, cores, newFolder, ready, root, start } from '../processes.ts';

const folder = join(root, '.toolchain/peers');
const portkeyScript = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
const litellmProgram = join(folder, 'python/bin/litellm');
const [portkeyPort, litellmPort] = [18_931, 18_932];

/** Notes on each of them, printed below the tables. */
export const notes: readonly string[] = [
  'Tollgate: keys, limits, durable holds and records, settlement, all on. One sync for the hold and one for the record, shared by calls at the same time.',
  'Portkey 1.15.2 (npm): passes the key of the vendor on. No keys of its own, no budgets, no records, no prices; those are in its hosted service.',
  'LiteLLM 1.106.2 (PyPI): one master key, and a cost computed per call in memory. Keys, budgets and spend need PostgreSQL through Prisma, whose engine is a download from outside the package registries and so is not measured. Without a database nothing is stored.',
  'Bifrost (npm @maximhq/bifrost 1.6.3): the package is a launcher that downloads the program from outside the package registry when it starts. Not measured.',
  'new-api and one-api: in no package registry of npm or PyPI. Not measured.',
];

async function portkey(upstream: Contender): Promise<Contender> {
  const child = start(process.execPath, [portkeyScript, `--port=${portkeyPort}`, '--headless'], cores.one, cleanEnv());
  child.stdout!.resume();
  const origin = `http://127.0.0.1:${portkeyPort}`;
  await ready(origin);
  const headers = { authorization: 'Bearer sk-bench', 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream.origin}/v1` };
  return { name: 'Portkey', origin, headers, pids: { portkey: child.pid! }, tailMs: 500 };
}

async function litellm(upstream: Contender): Promise<Contender> {
  const masterKey = 'sk-bench-master';
  const model = {
    model_name: 'openai/gpt-4.1-mini',
    litellm_params: { model: 'openai/gpt-4.1-mini', api_base: `${upstream.origin}/v1`, api_key: 'sk-bench' },
  };
  const config = join(newFolder('litellm'), 'config.yaml');
  // JSON is YAML.
  writeFileSync(config, JSON.stringify({ model_list: [model], general_settings: { master_key: masterKey } }));
  const args = ['--config', config, '--host', '127.0.0.1', '--port', String(litellmPort), '--num_workers', '1'];
  // Its own table of prices, in place of one that it downloads.
  const env = { ...cleanEnv(), LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR' };
  const child = start(litellmProgram, args, cores.one, env);
  child.stdout!.resume();
  const origin = `http://127.0.0.1:${litellmPort}`;
  await ready(`${origin}/health/liveliness`);
  return {
    name: 'LiteLLM',
    origin,
    headers: { authorization: `Bearer ${masterKey}` },
    pids: { litellm: child.pid! },
    tailMs: 500,
    isForeign: true,
  };
}

/** Starts those that are installed. */
export async function startPeers(upstream: Contender): Promise<Contender[]> {
  const peers: Contender[] = [];
  if (existsSync(portkeyScript)) peers.push(await portkey(upstream));
  if (existsSync(litellmProgram)) peers.push(await litellm(upstream));
  return peers;
}
