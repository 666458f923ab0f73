import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { AppError } from '#client/errors/app-error.js';
import { createTestDatabase, testEngines } from '../testing/database.js';
import { isDatabaseUnavailable, isPoolExhausted, isUnreachable } from './errors.js';
import { fromDatabase } from './failures.js';
import { openDatabase } from './open.js';
import { PoolMetrics } from './statements/db-metrics.js';

const failureOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => 'nothing failed', fromDatabase);

describe('a failure of the database', () => {
  it('is service_unavailable when nothing listens at its address', async () => {
    const db = openDatabase('mysql://nobody:nothing@127.0.0.1:1/none');
    expect(await failureOf(db.knex.raw('SELECT 1'))).toMatchObject({ reason: 'service_unavailable', retryAfterMs: 1000 });
    await db.close();
  });

  it('is service_unavailable when its host name does not resolve', async () => {
    const db = openDatabase('mysql://nobody:nothing@database.invalid/none');
    expect(await failureOf(db.knex.raw('SELECT 1'))).toMatchObject({ reason: 'service_unavailable' });
    await db.close();
  });

  it.each([
    ['a server that shuts down', { errno: 1053 }],
    ['a statement that the shutdown interrupted', { errno: 1317 }],
    ['a server with too many connections', { errno: 1040 }],
    ['a driver that lost its connection', { fatal: true }],
  ])('is service_unavailable for %s', (_, properties) => {
    expect(fromDatabase(Object.assign(new Error('driver'), properties))).toMatchObject({ reason: 'service_unavailable' });
  });

  it.each([
    ['a full disk', { errno: 1021 }],
    ['a table that cannot grow', { errno: 1114 }],
    ['a read-only server', { errno: 1290 }],
    ['a file whose disk fails', { code: 'SQLITE_IOERR_WRITE' }],
    ['a read-only file', { code: 'SQLITE_READONLY' }],
  ])('is service_unavailable for %s, which no single row causes', (_, properties) => {
    const error = Object.assign(new Error('driver'), properties);
    expect(fromDatabase(error)).toMatchObject({ reason: 'service_unavailable', retryAfterMs: 1000, cause: error });
    expect(isDatabaseUnavailable(error)).toBe(true);
  });

  it('is service_unavailable while a file cannot grow, and recovers when it can', async () => {
    const { db, drop } = await createTestDatabase('sqlite');
    await db.knex.raw('CREATE TABLE t (a TEXT NOT NULL)');
    const insert = (): Promise<unknown> => db.plainTransaction((tx) => tx.run('INSERT INTO t (a) VALUES (?)', ['x'.repeat(100_000)]));
    await db.knex.raw('PRAGMA max_page_count = 10');
    expect(await failureOf(insert())).toMatchObject({ reason: 'service_unavailable', cause: { code: 'SQLITE_FULL' } });
    expect(await failureOf(db.transaction((tx) => tx('t').insert({ a: 'x'.repeat(100_000) })))).toMatchObject({
      reason: 'service_unavailable',
    });
    await db.knex.raw('PRAGMA max_page_count = 1000');
    await insert();
    expect(await db.knex('t').select('a')).toHaveLength(1);
    await drop();
  });

  it.each([
    ['a deadlock that outlasted its retries', { errno: 1213 }, false],
    ['locks that cannot be acquired', { errno: 1205 }, false],
    ['a busy file', { code: 'SQLITE_BUSY' }, false],
    ['an exhausted pool', { name: 'KnexTimeoutError' }, true],
  ])('is overloaded, with a retry delay, for %s', (_, properties, isOfAll) => {
    const error = Object.assign(new Error('driver'), properties);
    expect(fromDatabase(error)).toMatchObject({ reason: 'overloaded', retryAfterMs: 1000, cause: error });
    // The items of a batch are then not tried one by one, each waiting for a connection.
    expect(isDatabaseUnavailable(error)).toBe(isOfAll);
  });

  it('has no advice of Knex if no connection became free in time', async () => {
    const pool = new PoolMetrics('test', { max: 1, numUsed: () => 0, numFree: () => 0, numPendingAcquires: () => 0 });
    const timeout = Object.assign(new Error('Are you missing a .transacting(trx) call?'), { name: 'KnexTimeoutError' });
    const raised = await pool.acquire(() => Promise.reject(timeout)).catch((error: unknown) => error);
    pool.end();
    expect([isPoolExhausted(raised), isUnreachable(raised)]).toEqual([true, true]);
    expect(inspect(raised)).not.toContain('transacting');
    expect(String(raised)).toContain('the database did not respond in time');
  });

  it('is unchanged when it is a bug or an expected error', () => {
    for (const error of [new AppError('balance_empty', 'no'), Object.assign(new Error('driver'), { errno: 1054 })])
      expect(fromDatabase(error)).toBe(error);
  });
});

// Only a server can end a connection; a run on SQLite alone has none.
for (const engine of testEngines.filter((each) => each === 'mysql'))
  describe(`a connection that ${engine} ends`, () => {
    it('fails every statement of its transaction, and is not reused', async () => {
      const { db, drop } = await createTestDatabase(engine);
      for (const open of ['transaction', 'plainTransaction'] as const) {
        const failures: unknown[] = [];
        const run = async (statement: () => Promise<unknown>): Promise<void> => {
          failures.push(await failureOf(statement()));
          failures.push(await failureOf(statement()));
          throw new Error('over');
        };
        await (
          open === 'transaction'
            ? db.transaction((tx) => run(async () => tx.raw('KILL CONNECTION_ID()')))
            : db.plainTransaction((tx) => run(() => tx.run('KILL CONNECTION_ID()', [])))
        ).catch(() => undefined);
        // More than two when the whole transaction is retried.
        expect(failures.length).toBeGreaterThanOrEqual(2);
        for (const failure of failures) expect(failure).toMatchObject({ reason: 'service_unavailable' });
        for (let count = 0; count < 10; count += 1) await db.knex.raw('SELECT 1');
        await db.plainTransaction((tx) => tx.query('SELECT 1', []));
      }
      await drop();
    });
  });
