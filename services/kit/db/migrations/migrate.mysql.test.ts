// MySQL commits each statement of a migration by itself, so a process that dies leaves half of one behind.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect, createServer } from 'node:net';
import { recordingLogger } from '../../testing/log.js';
import { openDatabase } from '../open.js';
import { createTestDatabase, type TestDatabase } from '../../testing/database.js';
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

it('resumes after every statement that was done but not recorded', async () => {
  const migration: Migration = {
    name: '0003-counters',
    statements: (sql) => [
      `CREATE TABLE counter (id ${sql.int64} NOT NULL PRIMARY KEY, number ${sql.int64} NOT NULL, old ${sql.int64} NULL) ${sql.tableOptions}`,
      'CREATE INDEX counter_by_number ON counter (number)',
      'INSERT INTO counter (id, number) VALUES (1, 0)',
      'UPDATE counter SET number = number + 1',
      'DROP INDEX counter_by_number ON counter',
      'ALTER TABLE counter DROP COLUMN old',
      'DROP TABLE thing',
    ],
  };
  for (let step = 1; step <= 7; step += 1) {
    await test.db.knex.raw(
      `CREATE TRIGGER interrupt BEFORE INSERT ON schema_migration FOR EACH ROW
         IF NEW.name = '0003-counters ${step}' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'interrupted'; END IF`,
    );
    await expect(migrate(test.db, [migration])).rejects.toThrow('interrupted');
    await test.db.knex.raw('DROP TRIGGER interrupt');
  }
  expect(await migrate(test.db, [migration])).toEqual(['0003-counters']);
  expect(await test.db.knex('counter').select()).toEqual([{ id: '1', number: '1' }]);
});

it('waits for a server that does not run yet, but not for a login that is refused', async () => {
  const server = new URL(test.url);
  const proxy = createServer((client) => {
    const upstream = connect(Number(server.port), server.hostname);
    client.pipe(upstream).pipe(client);
    for (const each of [client, upstream]) each.on('error', () => undefined).on('close', () => upstream.destroy());
  });
  const listen = (port: number): Promise<number> =>
    new Promise((done) => proxy.listen(port, '127.0.0.1', () => done((proxy.address() as { port: number }).port)));
  const port = await listen(0);
  await new Promise((done) => proxy.close(done));
  const { log, lines } = recordingLogger();
  const url = (password: string): string => test.url.replace(/:[^:@/]*@[^/]*/, `:${password}@127.0.0.1:${port}`);
  const db = openDatabase(url(server.password));
  const stranger = openDatabase(url('wrong'));
  const later: Migration = { name: '0002-later', statements: (sql) => [`CREATE TABLE later (id ${sql.int64} NOT NULL PRIMARY KEY)`] };
  const applied = migrate(db, [later], log);
  while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await listen(port);
  expect(await applied).toEqual(['0002-later']);
  expect(lines.map(({ msg }) => msg)).toEqual(['the database cannot be reached; waiting for it']);
  await expect(migrate(stranger, [later], log)).rejects.toThrow(/Access denied.*check TOLLGATE_<SERVICE>_DATABASE_URL/);
  await Promise.all([db.close(), stranger.close()]);
  await new Promise((done) => proxy.close(done));
});
