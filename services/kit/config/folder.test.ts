import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { createFolder } from './folder.js';

it('creates a folder and those above it, for its owner only', () => {
  const parent = mkdtempSync(join(tmpdir(), 'tollgate-folder-'));
  const folder = join(parent, 'a', 'b');
  createFolder('TOLLGATE_DATA_DIR', folder);
  createFolder('TOLLGATE_DATA_DIR', folder);
  expect([join(parent, 'a'), folder].map((each) => statSync(each).mode & 0o777)).toEqual([0o700, 0o700]);
  const file = join(folder, 'file');
  writeFileSync(file, '', { mode: 0o700 });
  expect(() => createFolder('TOLLGATE_DATA_DIR', file)).toThrow(
    `TOLLGATE_DATA_DIR must be a folder that this process can write to: ${file}`,
  );
  rmSync(parent, { recursive: true });
});

it.each(['/proc/x', '/proc/x/y'])('refuses %s, where no folder can be created', (folder) => {
  expect(() => createFolder('TOLLGATE_DATA_DIR', folder)).toThrow(`${folder} cannot be used (ENOENT)`);
});
