import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog as log } from '#kit/testing/log.js';
import { rotateLogs } from './log-rotation.js';

let folder: string;
let descriptor: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  // As the launcher opens it for a process, which keeps it for its whole life.
  descriptor = openSync(join(folder, 'ledger.log'), 'a', 0o600);
});

afterEach(() => {
  closeSync(descriptor);
  rmSync(folder, { recursive: true });
});

const rotate = (): void => rotateLogs({ folders: [folder, join(folder, 'absent')], bytesMax: 10, filesKept: 2 }, log);
const content = (name: string): string => readFileSync(join(folder, name), 'utf8');

it('keeps the latest files of a process that never reopens its log, and loses no line', () => {
  for (const line of ['first line\n', 'second line\n', 'third line\n', 'fourth line\n']) {
    writeSync(descriptor, line);
    rotate();
  }
  writeSync(descriptor, 'fifth\n');
  rotate();
  expect(readdirSync(folder).sort()).toEqual(['ledger.log', 'ledger.log.1', 'ledger.log.2']);
  expect([content('ledger.log'), content('ledger.log.1'), content('ledger.log.2')]).toEqual(['fifth\n', 'fourth line\n', 'third line\n']);
  expect(statSync(join(folder, 'ledger.log.1')).mode & 0o777).toBe(0o600);
});
