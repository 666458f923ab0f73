// Every example in JavaScript of docs/clients.md prints what the page says it prints.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cleanEnv, root } from '../support/process.js';
import { startSystem, type System } from '../support/system.js';

const page = readFileSync(join(root, 'docs/clients.md'), 'utf8');
const address = 'http://127.0.0.1:8080';

/** The examples, each with the heading above it and what it prints. */
const examples = page.split(/^## /m).flatMap((section) => {
  const title = section.slice(0, section.indexOf('\n'));
  return [...section.matchAll(/```js\n(.*?)```(?:\n\n```text\n(.*?)```)?/gs)].map(([, code, printed]) => ({ title, code: code!, printed }));
});

let system: System;

beforeAll(async () => {
  system = await startSystem('single');
});

afterAll(() => system?.stop());

/** Runs an example as a module of its own; what it prints. */
async function run(code: string): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '-'], {
    cwd: root,
    env: cleanEnv({ KEY: system.firstKey }),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let printed = '';
  child.stdout.on('data', (chunk) => (printed += chunk));
  child.stderr.on('data', (chunk) => (printed += chunk));
  child.stdin.end(code.replaceAll(address, system.baseUrl));
  await new Promise((resolve) => child.once('close', resolve));
  return printed;
}

describe('the page on clients', () => {
  it('has an example for each library, and says what each prints', () => {
    expect(examples.map(({ title }) => title)).toEqual([
      'openai, JavaScript',
      'openai, JavaScript, responses',
      '@anthropic-ai/sdk, JavaScript',
      'Vercel AI SDK',
    ]);
    for (const { printed } of examples) expect(printed).toBeDefined();
  });

  it.each(examples)('$title: its example prints what it says', async ({ code, printed }) => {
    expect(code).toContain(address);
    expect(await run(code)).toBe(printed);
  });
});
