// Random histories on the real rules and on a slow reference model: every answer and every balance must agree.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { migrate } from '#kit/db/migrate.js';
import { createTestDatabase, type TestDatabase, testEngines } from '#kit/testing/database.js';
import { migrations } from './migrations/index.js';
import { databaseBooks, memoryBooks } from './testing/books.js';
import { histories, runHistory } from './testing/history.js';

/** Some 20 operations each: enough histories that each guard of the rules is met from both sides many times. */
const memoryRuns = 2_000;
/** On a database it is loading, writing and reading back that is tested, not the rules. */
const databaseRuns = { sqlite: 150, mysql: 30 } as const;

it('agrees with the reference model in memory', async () => {
  await fc.assert(fc.asyncProperty(histories, (history) => runHistory(memoryBooks(), history)), { numRuns: memoryRuns });
}, 120_000);

describe.each(testEngines)('on %s', (engine) => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase(engine);
    await migrate(test.db, migrations);
  });

  afterAll(() => test.drop());

  it('agrees with the reference model', async () => {
    await fc.assert(fc.asyncProperty(histories, (history) => runHistory(databaseBooks(test.db), history)), { numRuns: databaseRuns[engine] });
    const entries = await test.db.knex('journal').count({ total: '*' }).first();
    expect(Number(entries?.['total'])).toBeGreaterThan(databaseRuns[engine]);
  }, 120_000);
});
