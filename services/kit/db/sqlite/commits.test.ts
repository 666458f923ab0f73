// The commits of a SQLite file: shared by all waiting transactions, reported when applied, and resolved when they are on disk.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { isDuplicate, isUnwritable } from '../errors.js';
import { type Database, openDatabase } from '../open.js';
import type { PlainTransaction } from '../plain/plain-transaction.js';
import { Table } from '../plain/table.js';

const insert = 'INSERT INTO thing (id) VALUES (?)';
const thing = new Table('thing', { key: ['id'], changing: ['text'] });

describe('the commits of a SQLite file', () => {
  let folder: string;
  let db: Database;
  /** Syncs that have begun and not ended. */
  let syncs: { resolve: () => void; reject: (error: Error) => void }[];
  let syncCount: number;
  let nowMs: number;
  /** Ends syncs by themselves. */
  let isDiskFast: boolean;
  let syncFailures: Error[];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-commits-'));
    syncs = [];
    syncCount = 0;
    nowMs = 0;
    isDiskFast = true;
    syncFailures = [];
    db = openDatabase(`sqlite:${join(folder, 'some.db')}`, {
      syncFile() {
        syncCount += 1;
        return isDiskFast ? Promise.resolve() : new Promise((resolve, reject) => syncs.push({ resolve, reject }));
      },
      onSyncFailure: (error) => syncFailures.push(error),
      monotonicMs: () => nowMs,
    });
    await db.knex.raw('CREATE TABLE thing (id INTEGER NOT NULL PRIMARY KEY) STRICT');
    isDiskFast = false;
  });

  afterEach(async () => {
    for (const { resolve } of syncs) resolve();
    isDiskFast = true;
    await db.close();
    rmSync(folder, { recursive: true });
  });

  const add = (id: number, onApplied?: () => void) => db.plainTransaction((tx) => tx.run(insert, [id]), { onApplied });
  const ids = async (): Promise<number[]> => (await db.query('SELECT id FROM thing ORDER BY id', [])).map((row) => Number(row['id']));
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const settled = async (promise: Promise<unknown>): Promise<boolean> => {
    let isSettled = false;
    const note = (): void => void (isSettled = true);
    promise.then(note, note);
    await turns();
    return isSettled;
  };

  it('reports what is applied before the sync has ended, and resolves after it', async () => {
    let isApplied = false;
    const answer = add(1, () => (isApplied = true));
    expect(await settled(answer)).toBe(false);
    expect(isApplied).toBe(true);
    expect(await ids()).toEqual([1]);
    syncs[0]!.resolve();
    expect(await answer).toBe(1);
  });

  it('shares one sync among all that wait, which fail separately', async () => {
    const earlier = [add(1), add(2)];
    await turns();
    expect(syncs).toHaveLength(1);
    const twice = add(1);
    const third = add(3);
    const nothing = db.plainTransaction((tx) => tx.query('SELECT 1', []));
    const outcomes = Promise.allSettled([twice, third, nothing]);
    syncs[0]!.resolve();
    await Promise.all(earlier);
    await turns();
    expect(syncs).toHaveLength(2);
    syncs[1]!.resolve();
    const [failed, ...others] = await outcomes;
    expect(failed.status === 'rejected' && isDuplicate(failed.reason)).toBe(true);
    expect(others.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    expect(await ids()).toEqual([1, 2, 3]);
  });

  it('undoes all that failed work has done, and nothing of the others', async () => {
    isDiskFast = true;
    const ends: [number, boolean][] = [];
    const work = (id: number, error?: Error) =>
      db.plainTransaction(async (tx) => {
        tx.onEnd((isCommitted) => ends.push([id, isCommitted]));
        await tx.run(insert, [id]);
        if (error !== undefined) throw error;
      });
    const outcomes = await Promise.allSettled([work(1), work(2, new Error('A bug.')), work(3)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await ids()).toEqual([1, 3]);
    expect(ends.toSorted(([one], [other]) => one - other)).toEqual([
      [1, true],
      [2, false],
      [3, true],
    ]);
  });

  it('undoes everything and fails all that share it if an error ends the whole transaction, as that of a full disk', async () => {
    isDiskFast = true;
    await db.knex.raw("CREATE TRIGGER full BEFORE INSERT ON thing WHEN NEW.id = 2 BEGIN SELECT RAISE(ROLLBACK, 'full'); END");
    const ends: boolean[] = [];
    const work = (id: number) =>
      db.plainTransaction((tx) => {
        tx.onEnd((isCommitted) => ends.push(isCommitted));
        return tx.run(insert, [id]);
      });
    const outcomes = await Promise.allSettled([work(1), work(2), work(3)]);
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && String(outcome.reason))).toEqual(
      Array.from({ length: 3 }, () => expect.stringContaining('full')),
    );
    expect(ends).toEqual([false, false]);
    expect(await ids()).toEqual([]);
    await add(4);
    expect(await ids()).toEqual([4]);
  });

  it.each([
    ['new rows', (tx: PlainTransaction) => tx.insert(thing, [[1, 'new']])],
    ['changed rows', (tx: PlainTransaction) => tx.overwrite(thing, [[0, 'changed']])],
  ])('syncs %s of a table', async (_, work) => {
    isDiskFast = true;
    await db.knex.raw("ALTER TABLE thing ADD COLUMN text TEXT NOT NULL DEFAULT ''");
    await add(0);
    syncCount = 0;
    await db.plainTransaction(work);
    expect(syncCount).toBe(1);
  });

  it('keeps other processes from writing from its beginning', async () => {
    isDiskFast = true;
    const other = new Sqlite(join(folder, 'some.db'), { timeout: 0 });
    try {
      const attempt = (): unknown => {
        try {
          return other.prepare(insert).run(2);
        } catch (error) {
          return error;
        }
      };
      expect(await db.plainTransaction(async () => attempt())).toMatchObject({ code: 'SQLITE_BUSY' });
    } finally {
      other.close();
    }
  });

  it('sends nothing after a statement that failed, even if the failure is caught', async () => {
    isDiskFast = true;
    await add(1);
    let later: unknown;
    const work = db.plainTransaction(async (tx) => {
      await tx.run(insert, [1]).catch(() => undefined);
      later = await tx.run(insert, [2]).catch((error: unknown) => error);
    });
    const [, outcome] = await Promise.allSettled([add(3), work]);
    expect(outcome.status === 'rejected' && isDuplicate(outcome.reason)).toBe(true);
    expect(isDuplicate(later)).toBe(true);
    expect(await ids()).toEqual([1, 3]);
  });

  it('begins no transaction before the previous one is on disk, so that no response shows data that may be lost', async () => {
    const first = add(1);
    await turns();
    const repeat = db.plainTransaction((tx) => tx.query('SELECT id FROM thing', []));
    expect(await settled(repeat)).toBe(false);
    syncs[0]!.resolve();
    expect(await repeat).toHaveLength(1);
    await first;
  });

  it('does not sync for a transaction that wrote nothing, or whose loss its caller accepts', async () => {
    await db.plainTransaction((tx) => tx.query('SELECT 1', []));
    await db.plainTransaction((tx) => tx.run(insert, [1]), { mayBeLost: true });
    expect(syncs).toEqual([]);
  });

  it('fails everything that waits for a sync that fails, and everything after it', async () => {
    const outcomes = Promise.allSettled([add(1), add(2)]);
    await turns();
    const waiting = add(3);
    const refused = waiting.catch((error: unknown) => error);
    syncs[0]!.reject(new Error('EIO: i/o error, fdatasync'));
    for (const outcome of await outcomes) expect(outcome.status === 'rejected' && isUnwritable(outcome.reason)).toBe(true);
    expect(isUnwritable(await refused)).toBe(true);
    const later = [
      add(4),
      db.query('SELECT 1', []),
      db.plainTransaction((tx: PlainTransaction) => tx.run(insert, [5]), { mayBeLost: true }),
      db.transaction((tx) => tx('thing').insert({ id: 6 })),
      db
        .knex('thing')
        .select()
        .then((rows: unknown) => rows),
    ];
    for (const outcome of await Promise.allSettled(later))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'SQLITE_IOERR_FSYNC' } });
    // A second sync would succeed without the data that the kernel has dropped.
    expect(syncs).toHaveLength(1);
    expect(syncFailures).toEqual([
      expect.objectContaining({
        message: expect.stringContaining(join(folder, 'some.db')),
        cause: new Error('EIO: i/o error, fdatasync'),
      }),
    ]);
  });

  it('applies nothing if the log cannot be opened, and continues once it can be', async () => {
    isDiskFast = true;
    const log = join(folder, 'some.db-wal');
    renameSync(log, `${log}.moved`);
    await expect(add(1)).rejects.toMatchObject({ code: 'ENOENT' });
    renameSync(`${log}.moved`, log);
    expect(await ids()).toEqual([]);
    await add(2);
    expect(await ids()).toEqual([2]);
    expect(syncFailures).toEqual([]);
  });

  it('lets a lane take its items when the commit begins', async () => {
    const first = add(1);
    await turns();
    const order: string[] = [];
    const turn = db.turn().then(async () => {
      order.push('turn');
      await add(2);
    });
    await turns();
    expect(order).toEqual([]);
    const other = add(3);
    syncs[0]!.resolve();
    await first;
    await turns();
    expect(order).toEqual(['turn']);
    expect(syncs).toHaveLength(2);
    syncs[1]!.resolve();
    await Promise.all([turn, other]);
  });

  it('waits a little longer while each turn of the event loop brings a lane more items', async () => {
    isDiskFast = true;
    const taken: number[] = [];
    const turn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    for (const arriving of [0, 3, 1000]) {
      let waiting = 1;
      let isTaken = false;
      const begun = db
        .turn(() => waiting)
        .then(() => {
          taken.push(waiting);
          isTaken = true;
        });
      for (let arrived = 0; !isTaken; arrived += 1) {
        if (arrived < arriving) waiting += 1;
        await turn();
      }
      await begun;
    }
    expect(taken[0]).toBe(1);
    expect(taken[1]).toBe(4);
    // Not forever.
    expect(taken[2]).toBeLessThan(20);
  });

  it('waits for work that is about to arrive while commits are usually shared, and not after lone ones', async () => {
    isDiskFast = true;
    let lastId = 0;
    const shared = (size: number): Promise<unknown> => Promise.all(Array.from({ length: size }, () => add((lastId += 1))));
    // The clock stands, so a commit that waits does so until it is moved.
    const commit = async (size: number): Promise<void> => {
      const done = shared(size);
      while (!(await settled(done))) nowMs += 1;
    };
    for (let times = 0; times < 10; times += 1) await commit(10);

    syncCount = 0;
    const first = shared(1);
    expect(await settled(first)).toBe(false);
    const second = shared(1);
    expect(await settled(second)).toBe(false);
    nowMs += 1;
    await Promise.all([first, second]);
    expect(syncCount).toBe(1);

    // So much that it need not wait.
    await shared(100);
    for (let times = 0; times < 40; times += 1) await commit(1);
    expect(await settled(shared(1))).toBe(true);
  });
});
