// The operator's command as a program: its output, and how it is found.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanEnv, root } from '../support/systems/process.js';

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
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^error: A disk is full: .*\nMake room on it/)]);
  } finally {
    closeSync(full);
  }
});

it('is found through a link to it', () => {
  symlinkSync(join(root, 'tollgate'), join(folder, 'tollgate'));
  const { status, stdout, stderr } = spawnSync(join(folder, 'tollgate'), ['--version'], { env: cleanEnv({}), encoding: 'utf8' });
  expect([status, stdout, stderr]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/), '']);
});
