import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastLines } from './last-lines.js';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  path = join(folder, 'probe.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

it('returns the last lines of a log, of whatever size', () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`);
  writeFileSync(path, `${lines.join('\n')}\n`);
  expect(lastLines(path)).toBe(lines.slice(-8).join('\n'));
  truncateSync(path, 3 * 2 ** 30);
  appendFileSync(path, '\nthe last one\n');
  expect(lastLines(path)).toMatch(/\nthe last one$/);
});

it('returns nothing of a log that has been removed', () => {
  expect(lastLines(path)).toBe('');
});
