import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { lockFolder } from '#kit/db/sqlite/folder-lock.js';
import { adoptSpools } from './adopt.js';

let folder = '';
const first = '001770000000000-000001.spool';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'adopt-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string): void {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), path);
}

const spooled = (in_: string): string[] => readdirSync(join(folder, in_)).filter((name) => name.endsWith('.spool'));

it('moves the reports of threads that no longer exist, and those of a gateway without threads', () => {
  for (const path of [first, `1/${first}`, `2/${first}`, `3/${first}`, '3/refused.jsonl']) write(path);
  adoptSpools(folder, [1, 2], join(folder, '1'));
  expect([spooled(''), spooled('2'), spooled('3')]).toEqual([[], [first], []]);
  const contents = spooled('1').map((name) => readFileSync(join(folder, '1', name), 'utf8'));
  expect(contents.toSorted()).toEqual([first, `1/${first}`, `3/${first}`]);
  expect(readdirSync(join(folder, '3'))).toContain('refused.jsonl');
  // Another gateway may use the folders.
  for (const from of ['', '3']) lockFolder(join(folder, from))();
});

it('moves the reports of threads into the folder of a gateway without threads', () => {
  for (const path of [first, `1/${first}`, `2/${first}`]) write(path);
  adoptSpools(folder, [], folder);
  expect(spooled('')).toHaveLength(3);
  expect(readFileSync(join(folder, first), 'utf8')).toBe(first);
  expect([spooled('1'), spooled('2')]).toEqual([[], []]);
});

it('needs no folder', () => {
  adoptSpools(join(folder, 'none'), [1], join(folder, 'none', '1'));
  expect(readdirSync(folder)).toEqual([]);
});
