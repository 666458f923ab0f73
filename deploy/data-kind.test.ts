import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { refuseOtherData } from './data-kind.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('accepts a new folder in every mode, and afterwards only in the mode of its data', () => {
  for (const kind of ['single', 'mariadb', 'galera'] as const) refuseOtherData(folder, kind);
  mkdirSync(join(folder, 'mariadb'));
  refuseOtherData(folder, 'mariadb');
  expect(() => refuseOtherData(folder, 'galera')).toThrow(
    'holds the data of the distributed mode on MariaDB. Start it with `make run-distributed`',
  );
  expect(() => refuseOtherData(folder, 'single')).toThrow('make run-distributed');
});

it('accepts a folder with the data of both, of which none is lost', () => {
  writeFileSync(join(folder, 'books.db'), '');
  expect(() => refuseOtherData(folder, 'mariadb')).toThrow('a single process');
  mkdirSync(join(folder, 'mariadb'));
  refuseOtherData(folder, 'mariadb');
  refuseOtherData(folder, 'single');
});
