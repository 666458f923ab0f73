// Every example of docs/clients/ prints what its page says it prints. Those of clients that take long to install run if
// TOLLGATE_TEST_CLIENTS is 1 (scripts/install/clients.sh).
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cleanEnv, root } from '../support/systems/process.js';
import { startSystem, type System } from '../support/systems/system.js';

const folder = join(root, 'docs/clients');
const installed = join(root, '.toolchain/clients');
const address = 'http://127.0.0.1:8080';
const runsAll = process.env['TOLLGATE_TEST_CLIENTS'] === '1';
/** The libraries for Python that other tests need too. */
const ofEveryTest = ['openai', 'anthropic'];
/** Pages without an example that prints something: Codex has a test of its own. */
const withoutOutput = ['codex'];

interface Example {
  readonly client: string;
  readonly language: string;
  readonly code: string;
  readonly printed: string;
}

const pages = readdirSync(folder).map((file) => file.replace(/\.md$/, ''));
const examples = pages.flatMap((client) =>
  [...readFileSync(join(folder, `${client}.md`), 'utf8').matchAll(/```(js|python|sh)\n(.*?)```\n\n```text\n(.*?)```/gs)].map(
    ([, language, code, printed]): Example => ({ client, language: language!, code: code!, printed: printed! }),
  ),
);
const isShort = ({ client, language }: Example): boolean =>
  language === 'js' || client === 'curl' || (language === 'python' && ofEveryTest.includes(client));

let system: System;
let home: string;
let python: string;

beforeAll(async () => {
  if (runsAll) execFileSync(join(root, 'scripts/install/clients.sh'), { stdio: 'inherit' });
  home = mkdtempSync(join(tmpdir(), 'tollgate-clients-'));
  python = execFileSync(join(root, 'scripts/install/python.sh'), { encoding: 'utf8' }).trim();
  system = await startSystem('single');
}, 900_000);

afterAll(async () => {
  await system?.stop();
  rmSync(home, { recursive: true, force: true });
});

/** Runs an example as a separate program. Returns what it prints. */
async function run({ client, language, code }: Example): Promise<string> {
  const interpreters: Record<string, readonly string[]> = {
    js: [process.execPath, '--input-type=module', '-'],
    python: [ofEveryTest.includes(client) ? python : join(installed, client, 'bin/python'), '-'],
    sh: ['sh', '-e'],
  };
  const [program, ...args] = interpreters[language]!;
  const env = {
    KEY: system.firstKey,
    PATH: `${join(installed, 'bin')}:${process.env['PATH']}`,
    HOME: home,
    // Without these settings, the libraries contact servers on the internet.
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    AIDER_ANALYTICS: 'false',
    AIDER_CHECK_UPDATE: 'false',
    PYDANTIC_AI_NO_BANNER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  };
  const child = spawn(program!, args, { cwd: language === 'js' ? root : home, env: cleanEnv(env), stdio: ['pipe', 'pipe', 'pipe'] });
  let printed = '';
  child.stdout.on('data', (chunk) => (printed += chunk));
  child.stderr.on('data', (chunk) => (printed += chunk));
  child.stdin.end(code.replaceAll(address, system.baseUrl));
  await new Promise((resolve) => child.once('close', resolve));
  return stripVTControlCharacters(printed);
}

describe('the pages on clients', () => {
  it('are all listed, and have an example that says what it prints', () => {
    const index = readFileSync(join(root, 'docs/clients.md'), 'utf8');
    for (const page of pages) expect(index).toContain(`(clients/${page}.md)`);
    expect([...new Set(examples.map(({ client }) => client)), ...withoutOutput].toSorted()).toEqual(pages.toSorted());
  });

  it.each(examples.filter((example) => runsAll || isShort(example)))(
    '$client, $language: its example prints what it says',
    async (example) => {
      expect(example.code).toContain(address);
      const printed = await run(example);
      // Agents print more than the answer.
      if (example.language === 'sh') expect(printed.split('\n').map((line) => line.trim())).toContain(example.printed.trim());
      else expect(printed).toBe(example.printed);
    },
    180_000,
  );
});
