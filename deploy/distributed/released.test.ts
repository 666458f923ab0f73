import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockFolder } from '#kit/db/sqlite/folder-lock.js';
import { untilReleased } from './released.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('waits for a process that still uses the folder', async () => {
  const unlock = lockFolder(folder);
  let isReleased = false;
  const waiting = untilReleased(folder, 'SPOOL', 60_000).then(() => expect(isReleased).toBe(true));
  await new Promise((resolve) => setTimeout(resolve, 250));
  isReleased = true;
  unlock();
  await waiting;
  // It does not keep the lock itself.
  lockFolder(folder)();
});

it('names the setting of a folder that is used for too long, and does not wait for one that is not there', async () => {
  const unlock = lockFolder(folder);
  await expect(untilReleased(folder, 'SPOOL', 0)).rejects.toThrow('or choose another SPOOL');
  unlock();
  await untilReleased(join(folder, 'none'), 'SPOOL', 0);
});
