// The lint rule reports the statements that it exists for.
import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const careless = [
  'tx.run("SELECT 1", []);',
  'const later = tx.query("SELECT 1", []);',
  'await Promise.all([tx("a").insert({})]);',
  'await Promise.all(ids.map((id) => tx.find(table, [[id]])).concat(tx.lock(table, [])));',
  'await tx.run("SELECT 1; SELECT 2", []);',
  'await knex.raw(`UPDATE ${table}; COMMIT`);',
  'connect({ multipleStatements: true });',
];
const careful = [
  'await tx.run("SELECT 1;", []);',
  'const rows = await tx.query("SELECT 1", []);',
  'return tx.lock(table, []);',
  'await transaction((tx) => tx.insert(table, rows));',
  'await tx("a").insert({});',
  'connect({ multipleStatements: false });',
];

it('finds statements that are not awaited one by one, and strings of several statements', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-lint-'));
  try {
    const write =
      (kind: string) =>
      (line: string, index: number): void =>
        writeFileSync(
          join(folder, `${kind}-${index}.ts`),
          `export async function sample(tx, knex, table, ids, rows, connect, transaction) {\n  ${line}\n}\n`,
        );
    careless.forEach(write('careless'));
    careful.forEach(write('careful'));
    const { stdout } = spawnSync('node_modules/.bin/oxlint', ['--config', '.oxlintrc.json', '--format', 'unix', folder], {
      encoding: 'utf8',
    });
    const found = new Set(
      stdout
        .split('\n')
        .filter((line) => line.includes('one-awaited-statement'))
        .map((line) => /(\w+-\d+)\.ts/.exec(line)?.[1]),
    );
    expect([...found].sort()).toEqual(careless.map((_, index) => `careless-${index}`));
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 120_000);
