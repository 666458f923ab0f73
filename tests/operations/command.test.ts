// The operator's command as a program: its output.
import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { cleanEnv, root } from '../support/systems/process.js';

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
