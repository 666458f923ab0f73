import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordingLogger } from '#kit/testing/log.js';
import { processIds } from './process-ids.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('notes the latest pid of each process, and raises nothing if the file cannot be written', () => {
  const path = join(folder, 'processes.json');
  const { log, lines } = recordingLogger();
  const note = processIds(folder, log);
  const read = (): unknown => JSON.parse(readFileSync(path, 'utf8'));
  note('ledger')(1);
  note('auth')(2);
  expect(read()).toEqual({ pids: { ledger: 1, auth: 2 } });
  rmSync(path);
  mkdirSync(path);
  note('ledger')(3);
  expect(lines).toEqual([expect.objectContaining({ file: path })]);
  rmdirSync(path);
  note('auth')(4);
  expect(read()).toEqual({ pids: { ledger: 3, auth: 4 } });
});
