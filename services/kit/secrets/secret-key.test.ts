import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { chownSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newSecretKey, readSecretKeys, writeSecretKeys } from './secret-key.js';

let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'tollgate-test-')), 'secret-key');
});
afterEach(() => rmSync(join(path, '..'), { recursive: true }));

it('replaces the keys in a file that only its owner can read', () => {
  const keys = [newSecretKey(), newSecretKey()];
  writeSecretKeys(path, keys.slice(0, 1));
  writeSecretKeys(path, keys);
  expect([readSecretKeys(path), statSync(path).mode & 0o777]).toEqual([keys, 0o600]);
});

// Only root can give a file to another user.
const itAsRoot = process.getuid?.() === 0 ? it : it.skip;

itAsRoot('leaves the file to the user of the processes that read it', () => {
  writeSecretKeys(path, [newSecretKey()]);
  chownSync(path, 12_345, 12_346);
  writeSecretKeys(path, [newSecretKey()]);
  expect(statSync(path)).toMatchObject({ uid: 12_345, gid: 12_346 });
});
