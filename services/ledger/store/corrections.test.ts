// The search for corrections reads the later notes of an account once, in parts.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { migrate } from '#kit/db/migrations/migrate.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import { newId } from '#kit/id.js';
import { createTestDatabase, type TestDatabase, testEngines } from '#kit/testing/database.js';
import { postings } from '../books/journal.js';
import { migrations } from '../migrations/index.js';
import { correctingEntries } from './corrections.js';
import { accountColumns } from './rows.js';

const { adjustmentUp } = postings;

describe.each(testEngines)('the corrections of an entry on %s', (engine) => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase(engine);
    await migrate(database.db, migrations);
  });

  afterEach(() => database.drop());

  it('are found among many notes, each of which is read once', async () => {
    const columns = accountColumns(newId('acct'), engine);
    // A few correct the entry, or one of its corrections in another part; the others correct entry no. 2.
    const linkedSeqs = Array.from({ length: 2500 }, (_, index) => (index % 500 === 0 ? (index > 1000 ? index - 497 : 1) : 2));
    const rows = linkedSeqs.map((linkedSeq, index) => ({
      ...columns,
      seq: index + 3,
      kind: adjustmentUp.kind,
      debit: adjustmentUp.debit,
      credit: adjustmentUp.credit,
      amount_nano_usd: 1,
      credited_after_nano_usd: index,
      spent_after_nano_usd: 0,
      held_after_nano_usd: 0,
      idempotency_key: `key ${index}`,
      reason: '',
      linked_seq: linkedSeq,
      created_at_ms: 1,
      day: 0,
    }));
    for (let start = 0; start < rows.length; start += 400) {
      const some = rows.slice(start, start + 400);
      await database.db.knex('journal').insert(some);
      await database.db.knex('journal_note').insert(some.map(({ seq, kind }) => ({ ...columns, seq, kind })));
    }
    const sizes: number[] = [];
    const query = async (text: string, values: readonly unknown[]): Promise<Row[]> => {
      const found = await database.db.query(text, values);
      sizes.push(found.length);
      return found;
    };
    const found = await correctingEntries({ query }, columns, 1n);
    expect(found.map(({ seq }) => seq)).toEqual([3n, 503n, 1003n, 1503n, 2003n]);
    expect(sizes).toEqual([1000, 1000, 500]);
  });
});
