// Random histories against the real rules, lane and store, and against a slow reference model: every response and every row must agree.
//
// TOLLGATE_TEST_HISTORIES=<n> runs n histories on each. TOLLGATE_TEST_SEED=<seed>, which a failure prints, runs the histories of that seed again, one
// after another.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { migrate } from '#kit/db/migrations/migrate.js';
import { Pacer } from '#kit/scheduling/pacer.js';
import { createTestDatabase, type TestDatabase, testEngines } from '#kit/testing/database.js';
import { migrations } from '../migrations/index.js';
import { Audit } from '../store/audit.js';
import { Reads } from '../store/reads.js';
import type { Books } from '../testing/books.js';
import { histories } from '../testing/commands.js';
import { runHistory } from '../testing/history.js';
import { LaneBooks } from '../testing/lane-books.js';
import { memoryBooks } from '../testing/memory-books.js';
import { verifyAccount } from '../verify/verify-account.js';

// The stacks of refusals are never read, and the trace is half of their cost here.
Error.stackTraceLimit = 0;

const givenHistories = process.env['TOLLGATE_TEST_HISTORIES'];
const givenSeed = process.env['TOLLGATE_TEST_SEED'];
const seed = givenSeed === undefined ? Math.trunc(Math.random() * 2 ** 31) : Number(givenSeed);

/** Histories of some 25 operations each: 3,500 through lane, store and databases, in addition to those through the rules alone. `make nightly` runs 200,000. */
const runs =
  givenHistories === undefined
    ? { memory: 1_500, sqlite: 2_000, mysql: 1_500 }
    : { memory: Number(givenHistories), sqlite: Number(givenHistories), mysql: Number(givenHistories) };
/** Histories that run at the same time on one database, and so share transactions. */
const streams = givenSeed === undefined ? 100 : 1;
/** Far more than it takes: the number of histories bounds the duration. */
const timeoutMs = 600_000 + 100 * Math.max(...Object.values(runs));

/** Runs histories, one after another in each stream. A failure prints the seed and the smallest history that fails. */
async function check(books: () => Books, count: number, streamCount: number): Promise<void> {
  const numRuns = Math.ceil(count / streamCount);
  let failed: number | undefined;
  const stream = (index: number): Promise<void> =>
    fc.assert(
      fc.asyncProperty(histories, async (history) => {
        // The first history to fail runs alone while its smallest failing history is searched for.
        if (failed !== undefined && failed !== index) return;
        try {
          await runHistory(books(), history);
        } catch (error) {
          failed ??= index;
          throw error;
        }
      }),
      { numRuns, seed: seed + index },
    );
  const ends = await Promise.allSettled(Array.from({ length: streamCount }, (_, index) => stream(index)));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

it('agrees with the reference model in memory', () => check(memoryBooks, runs.memory, 1), timeoutMs);

describe.each(testEngines)('on %s', (engine) => {
  let test: TestDatabase;

  beforeAll(async () => {
    // No machine loses power here, and waiting for the disk at every commit would be most of the test. Other tests do wait for it.
    test = await createTestDatabase(engine, { syncFile: async () => undefined });
    await migrate(test.db, migrations);
  });

  afterEach(async () => {
    for (const table of ['bucket', 'hold', 'journal', 'op', 'budget_alert']) await test.db.knex(table).delete();
  });

  afterAll(() => test.drop());

  it(
    'agrees with the reference model, histories side by side',
    async () => {
      const books = new LaneBooks(test.db, true);
      await check(() => books, runs[engine], streams);
      const entries = await test.db.knex('journal').count({ total: '*' }).first();
      expect(Number(entries?.['total'])).toBeGreaterThan(runs[engine]);
    },
    timeoutMs,
  );

  it(
    'agrees with the reference model and with Verify, one history at a time',
    async () => {
      const deps = { reads: new Reads(test.db), audit: new Audit(test.db) };
      const property = fc.asyncProperty(histories, async (history) => {
        for (const { accountId } of await runHistory(new LaneBooks(test.db, false), history)) {
          expect((await verifyAccount(accountId, deps, new Pacer())).rebuild.drifts).toEqual([]);
          expect(await deps.audit.unexplainedHolds(accountId, 1, new Pacer())).toEqual([]);
        }
      });
      await fc.assert(property, { numRuns: 50, seed });
    },
    timeoutMs,
  );
});
