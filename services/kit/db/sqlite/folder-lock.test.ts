import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockFolder } from './folder-lock.js';

describe('the lock of a folder', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-lock-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is held by one process at a time', () => {
    const release = lockFolder(folder);
    expect(() => lockFolder(folder)).toThrow('Another process is using');
    release();
    lockFolder(folder)();
  });

  it('is a file that no other user may open', () => {
    const release = lockFolder(folder);
    expect(statSync(join(folder, 'lock.db')).mode & 0o777).toBe(0o600);
    release();
  });

  it('ends with a process that is killed', async () => {
    const driver = createRequire(import.meta.url).resolve('better-sqlite3');
    const script = `const d = new (require(${JSON.stringify(driver)}))(${JSON.stringify(join(folder, 'lock.db'))}); d.pragma('locking_mode = EXCLUSIVE'); d.exec('BEGIN EXCLUSIVE; COMMIT'); console.log('locked'); setInterval(() => {}, 1000);`;
    const child: ChildProcess = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await new Promise((resolve) => child.stdout!.once('data', resolve));
      expect(() => lockFolder(folder)).toThrow('Another process is using');
    } finally {
      child.kill('SIGKILL');
      await new Promise((resolve) => child.once('exit', resolve));
    }
    lockFolder(folder)();
  });
});
