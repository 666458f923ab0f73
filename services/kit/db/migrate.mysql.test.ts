// MySQL commits each statement of a migration by itself, so a process that dies leaves half of one behind.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../testing/database.js';
import { migrate, type Migration } from './migrate.js';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase('mysql');
});

afterAll(() => test.drop());

it('resumes a migration that was interrupted', async () => {
  const migration: Migration = {
    name: '0001-things',
    statements: (sql) => [
      `CREATE TABLE thing (id ${sql.int64} NOT NULL PRIMARY KEY) ${sql.tableOptions}`,
      `ALTER TABLE thing ADD COLUMN name ${sql.text(10)} NOT NULL DEFAULT ''`,
      'CREATE INDEX thing_by_name ON thing (name)',
    ],
  };
  const broken: Migration = { ...migration, statements: (sql) => [...migration.statements(sql).slice(0, 2), 'CREATE NOTHING'] };
  await expect(migrate(test.db, [broken])).rejects.toThrow();
  // As when the process died after a statement and before recording it.
  await test.db.knex('schema_migration').where({ name: '0001-things 2' }).delete();
  expect(await migrate(test.db, [migration])).toEqual(['0001-things']);
  expect(await migrate(test.db, [migration])).toEqual([]);
  await test.db.knex('thing').insert({ id: 1, name: 'whole' });
  const [indexes] = await test.db.knex.raw("SHOW INDEX FROM thing WHERE Key_name = 'thing_by_name'");
  expect(indexes).toHaveLength(1);
});
