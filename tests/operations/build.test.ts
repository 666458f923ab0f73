// Several runs of `make` in one checkout: concurrent builds while an instance runs from the previous build.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, cleanEnv, eventually, freePort, root, startScript } from '../support/systems/process.js';

const patienceMs = 240_000;
/** A copy of this checkout with its packages, generated code and build, so that a build only has to compile. */
let checkout: string;
let instance: Child | undefined;

beforeAll(() => {
  checkout = mkdtempSync(join(tmpdir(), 'tollgate with spaces-'));
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  const existing = files.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
  execFileSync('cp', ['--archive', '--parents', ...existing, 'proto/gen', 'dist', checkout], { cwd: root });
  for (const folder of ['node_modules', '.toolchain'].filter((name) => existsSync(join(root, name)))) {
    symlinkSync(join(root, folder), join(checkout, folder));
  }
});

afterAll(async () => {
  await instance?.end('SIGTERM');
  rmSync(checkout, { recursive: true, force: true });
});

/** Runs `make build`. Returns its exit code and output. */
function makeBuild(): Promise<{ code: number | null; output: string }> {
  const child = spawn('make', ['build'], { cwd: checkout, env: cleanEnv({}) });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}

const assets = (): string[] => readdirSync(join(checkout, 'dist/console-app/assets')).filter((name) => /^index-.*\.js$/.test(name));

it(
  'two concurrent builds both complete, do not disturb a running instance, and appear only when they are complete',
  async () => {
    const port = await freePort();
    const dataDir = join(checkout, 'data');
    instance = startScript(join(checkout, 'dist/deploy/single/main.js'), [], { PORT: String(port), TOLLGATE_DATA_DIR: dataDir });
    const page = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}/console${path}`);
    await eventually(async () => ((await page('/')).status === 200 ? true : undefined), 60_000);
    const [asset] = assets();
    const before = await (await page(`/assets/${asset}`)).text();

    appendFileSync(join(checkout, 'console/src/main.tsx'), '\nconsole.debug(document.title);\n');
    let isBuilt = false;
    const builds = Promise.all([makeBuild(), makeBuild()]).finally(() => (isBuilt = true));
    const parts = ['dist/cli/main.js', 'dist/deploy/single/main.js', 'dist/console-app/index.html'].map((path) => join(checkout, path));
    while (!isBuilt) {
      // The folder is missing for a moment between the two renames of the swap.
      if (!parts.every(existsSync)) {
        await sleep(100);
        expect(parts.filter((path) => !existsSync(path))).toEqual([]);
      }
      expect((await page('/')).status).toBe(200);
      expect(await (await page(`/assets/${asset}`)).text()).toBe(before);
      await sleep(50);
    }
    const [one, other] = await builds;
    expect([one.code, other.code, one.output + other.output]).toEqual([0, 0, expect.not.stringContaining('rror')]);
    expect(readdirSync(join(checkout, 'dist'))).toEqual(
      expect.arrayContaining(['.built', 'chunks', 'cli', 'console-app', 'deploy', 'gateway', 'services']),
    );
    expect(assets()).toHaveLength(1);
    expect(assets()).not.toContain(asset);
    expect((await page('/')).status).toBe(200);
    expect(await (await page(`/assets/${asset}`)).text()).toBe(before);
  },
  patienceMs,
);
