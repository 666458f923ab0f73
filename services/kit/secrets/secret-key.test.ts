import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
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

it('leaves the file to the user of the processes that read it', () => {
  // Only root can give a file to another user.
  const owner = process.getuid!() === 0 ? { uid: 12_345, gid: 12_346 } : { uid: process.getuid!(), gid: process.getgid!() };
  writeSecretKeys(path, [newSecretKey()]);
  chownSync(path, owner.uid, owner.gid);
  writeSecretKeys(path, [newSecretKey()]);
  expect(statSync(path)).toMatchObject(owner);
});

it('names a file that cannot be read', () => {
  mkdirSync(path);
  expect(() => readSecretKeys(path)).toThrow(`${path} cannot be read (EISDIR). It must be a file that the user of this process can read`);
});
