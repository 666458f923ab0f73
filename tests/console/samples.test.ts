// The samples that the console shows with a new key: they run unchanged, and configure each client as in docs/clients.md.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keyVariable, type Sample, type SampleId, sampleIds, samplesFor } from '../../console/src/pages/keys/secret/samples.js';
import { cleanEnv, root } from '../support/systems/process.js';
import { startSystem, type System } from '../support/systems/system.js';

let system: System;
let folder: string;
let samples: readonly Sample[];

beforeAll(async () => {
  system = await startSystem('single');
  folder = mkdtempSync(join(tmpdir(), 'tollgate-samples-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'bin'));
  // Neither the installation nor Claude Code itself is tested: a substitute prints what it was started with.
  for (const [name, script] of [
    ['npm', 'exit 0'],
    ['claude', 'echo "$ANTHROPIC_BASE_URL $ANTHROPIC_AUTH_TOKEN $ANTHROPIC_MODEL"'],
  ]) {
    writeFileSync(join(folder, 'bin', name!), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  samples = samplesFor({ baseAddress: system.baseUrl, secret: system.firstKey, model: 'sandbox/echo' });
});

afterAll(async () => {
  await system?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a command in a shell. Returns its output. */
async function run(command: string): Promise<string> {
  const path = `${join(folder, 'bin')}:${process.env['PATH']}`;
  const child = spawn('sh', ['-e', '-'], { cwd: folder, env: { ...cleanEnv({ PATH: path }) }, stdio: ['pipe', 'pipe', 'pipe'] });
  let printed = '';
  child.stdout.on('data', (chunk) => (printed += chunk));
  child.stderr.on('data', (chunk) => (printed += chunk));
  child.stdin.end(command);
  await new Promise((resolve) => child.once('close', resolve));
  return printed;
}

function sampleOf(id: SampleId): Sample {
  return samples.find((sample) => sample.id === id)!;
}

/** Creates the files of a sample and runs its commands. */
async function follow(id: SampleId): Promise<string> {
  const { blocks } = sampleOf(id);
  for (const { file, code } of blocks) if (file !== undefined) writeFileSync(join(folder, file), code);
  return run(
    blocks
      .filter(({ file }) => file === undefined)
      .map(({ code }) => code)
      .join('\n'),
  );
}

const codeOf = (id: SampleId): string =>
  sampleOf(id)
    .blocks.map(({ code }) => code)
    .join('\n');

describe('the samples for a key', () => {
  it('exist for every client', () => {
    expect(samples.map(({ id }) => id)).toEqual([...sampleIds]);
  });

  it.each(['openai-js', 'anthropic-js', 'vercel-ai'] as const)('%s: prints the answer', async (id) => {
    expect(await follow(id)).toBe('Hello\n');
  });

  it('curl: prints the answer', async () => {
    expect(await follow('curl')).toContain('"content":"Hello"');
  });

  it('Claude Code: is started with the address without /v1, the key and the model', async () => {
    expect(await follow('claude-code')).toBe(`${system.baseUrl} ${system.firstKey} sandbox/echo\n`);
  });

  it.each([
    [
      'openai',
      `import OpenAI from 'openai'; const { choices } = await new OpenAI().chat.completions.create({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hi' }] }); console.log(choices[0].message.content);`,
    ],
    [
      'anthropic',
      `import Anthropic from '@anthropic-ai/sdk'; const { content } = await new Anthropic().messages.create({ model: 'sandbox/echo', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }); console.log(content[0].text);`,
    ],
  ])('.env: is enough for %s without further configuration', async (_, program) => {
    await follow('env');
    writeFileSync(join(folder, 'plain.mjs'), program);
    expect(await run('node --env-file=.env plain.mjs')).toBe('Hi\n');
  });

  it('keep the key in the environment, never in code', () => {
    for (const { blocks } of samples) {
      for (const { file, code } of blocks)
        expect([file, code.includes(system.firstKey)]).toEqual([file, file === undefined || file === '.env']);
    }
  });

  it('work with any model name', async () => {
    const model = `o'"$(touch x)\`\\`;
    const made = samplesFor({ baseAddress: system.baseUrl, secret: system.firstKey, model });
    const curl = made.find(({ id }) => id === 'curl')!.blocks[0]!.code;
    expect(JSON.parse(await run(curl.replace('curl ', 'curl -s ')))).toMatchObject({ error: { message: expect.stringContaining(model) } });
    const line = made
      .find(({ id }) => id === 'openai-js')!
      .blocks[1]!.code.split('\n')
      .find((each) => each.includes('model:'))!;
    expect(JSON.parse(line.trim().slice('model: '.length, -1))).toBe(model);
  });

  // The page's table of clients with and without /v1.
  const page = readFileSync(join(root, 'docs/clients.md'), 'utf8');
  const rows = [...page.matchAll(/^\| \[(.+?)\].*? \| `(http:\/\/127\.0\.0\.1:8080(?:\/v1)?)` \|/gm)].map(([, clients, address]) => ({
    clients: clients!,
    address: address!,
  }));
  const addressOf = (client: string): string =>
    rows.find(({ clients }) => clients === client)!.address.replace('http://127.0.0.1:8080', system.baseUrl);

  it.each<[SampleId, string]>([
    ['openai-js', 'OpenAI'],
    ['openai-python', 'OpenAI'],
    ['anthropic-js', 'Anthropic'],
    ['anthropic-python', 'Anthropic'],
    ['vercel-ai', 'Vercel AI SDK'],
    ['claude-code', 'Claude Code'],
  ])('%s: has the address from docs/clients.md', (id, client) => {
    expect([...codeOf(id).matchAll(/https?:\/\/[^"'\s]+/g)].map(([address]) => address)).toEqual([addressOf(client)]);
  });

  it('use the names of docs/clients/claude-code.md, and one name for the key elsewhere', () => {
    const shown = /```sh\n(.*?)```/s.exec(readFileSync(join(root, 'docs/clients/claude-code.md'), 'utf8'))![1]!;
    const names = (text: string): string[] => [...text.matchAll(/export (\w+)=/g)].map(([, name]) => name!);
    expect(names(codeOf('claude-code'))).toEqual(names(shown));
    for (const id of sampleIds.filter((each) => each !== 'claude-code')) expect(codeOf(id)).toContain(keyVariable);
  });
});
