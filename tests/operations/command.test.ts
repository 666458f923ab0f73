// The operator's command as a program: its output, and how it is found and started.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { cleanEnv, root, startScript } from '../support/systems/process.js';
import { startSystem } from '../support/systems/system.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate with spaces-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

it('fails when its output cannot be written because the disk is full', () => {
  const full = openSync('/dev/full', 'w');
  try {
    const { status, stderr } = spawnSync(process.execPath, ['dist/cli/main.js', 'config', '--json'], {
      cwd: root,
      env: cleanEnv({}),
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^error: A disk is full: .*\nFree up space on it/)]);
  } finally {
    closeSync(full);
  }
});

it('is found through a link to it', () => {
  symlinkSync(join(root, 'tollgate'), join(folder, 'tollgate'));
  const { status, stdout, stderr } = spawnSync(join(folder, 'tollgate'), ['--version'], { env: cleanEnv({}), encoding: 'utf8' });
  expect([status, stdout, stderr]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+(\+\w+)?\n$/), '']);
});

// The build may be older than the present commit if nothing that it contains has changed since.
it('shows the commit that was built from a checkout', () => {
  const { stdout } = spawnSync(join(root, 'tollgate'), ['--version'], { env: cleanEnv({}), encoding: 'utf8' });
  const built = spawnSync('git', ['cat-file', '-t', stdout.trim().split('+')[1] ?? 'none'], { cwd: root, encoding: 'utf8' });
  if (existsSync(join(root, '.git'))) expect(built.stdout.trim()).toBe('commit');
});

it('says why it does not start when Node is too old and npm cannot install another one', () => {
  const [checkout, programs] = [join(folder, 'checkout'), join(folder, 'programs')];
  for (const each of [join(checkout, 'scripts'), join(checkout, 'dist', 'cli'), programs]) mkdirSync(each, { recursive: true });
  for (const each of ['tollgate', 'scripts/node-path.sh']) copyFileSync(join(root, each), join(checkout, each));
  writeFileSync(join(checkout, 'dist', 'cli', 'main.js'), '');
  writeFileSync(join(programs, 'node'), '#!/bin/sh\necho 0\n', { mode: 0o700 });
  writeFileSync(join(programs, 'npm'), '#!/bin/sh\necho "npm error network" >&2\nexit 1\n', { mode: 0o700 });
  const { status, stdout, stderr } = spawnSync(join(checkout, 'tollgate'), ['--version'], {
    env: cleanEnv({ PATH: [programs, process.env['PATH']].join(delimiter) }),
    encoding: 'utf8',
  });
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr.trim().split('\n')).toEqual([
    'Installing node@24 with npm …',
    'npm error network',
    expect.stringMatching(/^Installing node-\S+@24 with npm …$/),
    'npm error network',
    'No Node 24 or newer could be installed through npm.',
  ]);
});

it('installs Node once where npm runs no install scripts', () => {
  const [checkout, programs] = [join(folder, 'without-scripts'), join(folder, 'without-scripts-programs')];
  for (const each of [join(checkout, 'scripts'), programs]) mkdirSync(each, { recursive: true });
  copyFileSync(join(root, 'scripts/node-path.sh'), join(checkout, 'scripts/node-path.sh'));
  writeFileSync(join(programs, 'node'), '#!/bin/sh\necho 0\n', { mode: 0o700 });
  // Of the package `node`, only the wrapper would be installed.
  const install =
    'for name; do :; done; name=${name%@24}; [ "$name" = node ] || { mkdir -p "$3/node_modules/$name/bin"; ln -s "$NEW" "$3/node_modules/$name/bin/node"; }';
  writeFileSync(join(programs, 'npm'), `#!/bin/sh\n${install}\n`, { mode: 0o700 });
  const env = cleanEnv({ NEW: process.execPath, PATH: [programs, process.env['PATH']].join(delimiter) });
  const [first, second] = [1, 2].map(() => spawnSync(join(checkout, 'scripts/node-path.sh'), { env, encoding: 'utf8' }));
  expect([first!.status, first!.stdout]).toEqual([0, expect.stringMatching(/\/node_modules\/node-[^/]+\/bin\n$/)]);
  expect([second!.stdout, second!.stderr]).toEqual([first!.stdout, '']);
});

it('says how to repeat a deposit safely when Ctrl-C ends it', async () => {
  const system = await startSystem('single');
  // A ledger that hangs.
  const ledger = createServer().listen(0, '127.0.0.1');
  try {
    const connected = once(ledger, 'connection');
    await once(ledger, 'listening');
    const others = ['AUTH', 'CATALOG', 'METERING', 'INFERENCE'].map((name) => [
      `TOLLGATE_${name}_ADDRESS`,
      `unix:${join(system.dataDir, 'tollgate.sock')}`,
    ]);
    const child = startScript('dist/cli/main.js', ['balance', 'deposit', '5'], {
      ...Object.fromEntries(others),
      TOLLGATE_LEDGER_ADDRESS: `127.0.0.1:${(ledger.address() as AddressInfo).port}`,
    });
    await connected;
    expect(await child.end('SIGINT')).toBe(130);
    expect(child.stderr()).toMatch(/may not have been booked\.\nTo make sure, retry with the same amount and --idempotency-key [\w-]{36};/);
  } finally {
    ledger.close();
    await system.stop();
  }
}, 60_000);
