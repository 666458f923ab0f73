import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '#kit/id.js';
import { recordingLogger } from '#kit/testing/log.js';
import { SpoolFiles } from './files.js';
import type { SpooledReport } from './line.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-spool-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const report = (): SpooledReport => ({ callId: newId('req'), traceparent: '', bytes: Buffer.from('some bytes of a report') });
const { log } = recordingLogger();

/** Files on a disk that is full while `isFull`: only half of each write succeeds, and `meanwhile` runs before the write is undone. */
function onFullDisk(isFull: () => boolean, meanwhile: () => Promise<void> = async () => undefined): SpoolFiles {
  const openOnFullDisk = async (...args: Parameters<typeof open>): Promise<FileHandle> => {
    const handle = await open(...args);
    const append = handle.appendFile.bind(handle);
    handle.appendFile = async (data) => {
      if (!isFull()) return append(data);
      const bytes = data as Buffer;
      await append(bytes.subarray(0, bytes.length / 2));
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    };
    const truncate = handle.truncate.bind(handle);
    handle.truncate = async (bytes) => {
      await meanwhile();
      return truncate(bytes);
    };
    return handle;
  };
  return new SpoolFiles(folder, log, Date.now(), openOnFullDisk as typeof open);
}

it('keeps the reports before and after a failed write, and none of the failed one', async () => {
  let isFull = false;
  const files = onFullDisk(() => isFull);
  const [before, failed, after] = [report(), report(), report()];
  await files.append([before]);
  isFull = true;
  await expect(files.append([failed])).rejects.toMatchObject({ code: 'ENOSPC' });
  isFull = false;
  await files.append([after]);
  await files.close();
  const found = await new SpoolFiles(folder, log, Date.now()).readAll();
  expect(found.flatMap(({ reports }) => reports)).toEqual([before, after]);
  expect(found.every(({ file }) => !file.isDamaged)).toBe(true);
});

it('leaves no file behind when the first write fails, and counts what it contains', async () => {
  const files = onFullDisk(() => true);
  await expect(files.append([report()])).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(readdirSync(folder)).toEqual([]);
  expect(files.bytes()).toBe(0);
});

it('removes a file once when its last report is recorded while a failed write is undone', async () => {
  let isFull = false;
  const files: SpoolFiles = onFullDisk(
    () => isFull,
    () => files.release(file),
  );
  const file = await files.append([report()]);
  isFull = true;
  await expect(files.append([report()])).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(readdirSync(folder)).toEqual([]);
  expect(files.bytes()).toBe(0);
});

it('begins a new file when one is large, and removes each file when none of its reports is waiting', async () => {
  const files = new SpoolFiles(folder, log, Date.now());
  const large = (): SpooledReport => ({ callId: newId('req'), traceparent: '', bytes: Buffer.alloc(2_000_000) });
  const written = [];
  for (let count = 0; count < 4; count += 1) written.push(await files.append([large()]));
  expect(readdirSync(folder)).toHaveLength(2);
  for (const file of written) await files.release(file);
  expect(readdirSync(folder)).toEqual([]);
  expect(files.bytes()).toBe(0);
});

it('appends to a file that the next process finds, also after all earlier reports were recorded', async () => {
  const files = new SpoolFiles(folder, log, Date.now());
  await files.release(await files.append([report()]));
  const waiting = report();
  await files.append([waiting]);
  const next = new SpoolFiles(folder, log, Date.now());
  const [found] = (await next.readAll()) as [Awaited<ReturnType<SpoolFiles['readAll']>>[0]];
  expect(found.reports).toEqual([waiting]);
  expect(next.bytes()).toBe(files.bytes());
  await next.release(found.file);
  expect(next.bytes()).toBe(0);
});

it('has at most one file open, and none once no report is waiting or it is closed', async () => {
  let isFull = false;
  let openFiles = 0;
  const openCounted = async (...args: Parameters<typeof open>): Promise<FileHandle> => {
    const handle = await open(...args);
    openFiles += 1;
    const close = handle.close.bind(handle);
    handle.close = () => ((openFiles -= 1), close());
    const append = handle.appendFile.bind(handle);
    handle.appendFile = async (data) => (isFull ? Promise.reject(new Error('no space left on device')) : append(data));
    return handle;
  };
  const files = new SpoolFiles(folder, log, Date.now(), openCounted as typeof open);
  const large = (): SpooledReport => ({ callId: newId('req'), traceparent: '', bytes: Buffer.alloc(4_000_000) });
  await files.append([large()]);
  const last = await files.append([report()]);
  expect([readdirSync(folder).length, openFiles]).toEqual([2, 1]);
  await files.release(last);
  expect(openFiles).toBe(0);
  await files.append([report()]);
  isFull = true;
  await expect(files.append([report()])).rejects.toThrow('no space left');
  expect(openFiles).toBe(0);
  isFull = false;
  await files.append([report()]);
  await files.close();
  expect(openFiles).toBe(0);
});

it('leaves nothing behind when it tries whether the folder can be written', async () => {
  const files = new SpoolFiles(folder, log, Date.now());
  expect(await files.isWritable()).toBe(true);
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
  expect(await files.isWritable()).toBe(false);
});

it('does not acknowledge reports that the disk cannot sync, and keeps none of them', async () => {
  const openOnBadDisk = async (...args: Parameters<typeof open>): Promise<FileHandle> => {
    const handle = await open(...args);
    handle.datasync = async () => {
      throw Object.assign(new Error('i/o error'), { code: 'EIO' });
    };
    return handle;
  };
  const files = new SpoolFiles(folder, log, Date.now(), openOnBadDisk as typeof open);
  await expect(files.append([report()])).rejects.toMatchObject({ code: 'EIO' });
  expect(await new SpoolFiles(folder, log, Date.now()).readAll()).toEqual([]);
});

it('keeps rejected reports up to a maximum size', async () => {
  const files = new SpoolFiles(folder, log, Date.now());
  await files.keepRefused(report(), 'call_closed', 0);
  const path = join(folder, 'refused.jsonl');
  truncateSync(path, 17 * 1024 * 1024);
  await expect(files.keepRefused(report(), 'call_closed', 0)).rejects.toThrow(`${path} is full`);
  writeFileSync(path, '');
  await files.keepRefused(report(), 'call_closed', 0);
});
