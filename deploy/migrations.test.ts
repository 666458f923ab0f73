// During a rolling upgrade the previous version keeps running on the new version's schema, so a migration after the first may only add:
// everything that the previous version reads and writes must still exist, and a column that it does not write must have a default.
import { describe, expect, it } from '@jest/globals';
import { dialects } from '#kit/db/migrations/dialect.js';
import { migrations as auth } from '../services/auth/migrations/index.js';
import { migrations as catalog } from '../services/catalog/migrations/index.js';
import { migrations as inference } from '../services/inference/migrations/index.js';
import { migrations as ledger } from '../services/ledger/migrations/index.js';
import { migrations as metering } from '../services/metering/migrations/index.js';

const engines = ['sqlite', 'mysql'] as const;

/** Reports whether the statement only adds. `newTables` are created by the same migrations, so that no older code writes to them. */
function isAdditive(statement: string, newTables: ReadonlySet<string> = new Set()): boolean {
  const text = statement.replaceAll(/\s+/g, ' ').trim();
  if (newTables.has(/^(?:CREATE UNIQUE INDEX \w+ ON|INSERT INTO) (\w+) /.exec(text)?.[1] ?? '')) return true;
  if (/^CREATE (TABLE|INDEX) /.test(text)) return true;
  const column = /^ALTER TABLE \w+ ADD COLUMN \w+ (.*)$/.exec(text)?.[1];
  return column !== undefined && (column.includes('DEFAULT') || !column.includes('NOT NULL'));
}

describe.each([
  ['auth', auth],
  ['catalog', catalog],
  ['inference', inference],
  ['ledger', ledger],
  ['metering', metering],
] as const)('migrations of %s', (_service, migrations) => {
  it.each(engines)('only add, on %s', (engine) => {
    const later = migrations.slice(1).flatMap((migration) => migration.statements(dialects[engine]));
    const newTables = new Set(later.flatMap((statement) => /^CREATE TABLE (\w+) /.exec(statement.trim())?.[1] ?? []));
    expect(later.filter((statement) => !isAdditive(statement, newTables))).toEqual([]);
  });

  it('are applied in the order of their numbers', () => {
    const names = migrations.map(({ name }) => name);
    expect(names).toEqual([...names].sort());
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, index) => index + 1));
  });
});

it('recognizes statements that do more than add', () => {
  for (const statement of [
    'DROP TABLE a',
    'ALTER TABLE a DROP COLUMN b',
    'ALTER TABLE a ADD COLUMN b BIGINT NOT NULL',
    'CREATE UNIQUE INDEX a ON b (c)',
    'INSERT INTO a (b) VALUES (1)',
    'UPDATE a SET b = 1',
  ]) {
    expect(isAdditive(statement)).toBe(false);
  }
});
