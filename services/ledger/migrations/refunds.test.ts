// The version before refunds runs on for a while beside this one, on the schema of this one.
import { expect, it } from '@jest/globals';
import { migrate } from '#kit/db/migrate.js';
import { createTestDatabase, testEngines } from '#kit/testing/database.js';
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { accountColumns, fromHold, holdTable } from '../store/rows.js';
import { Reads } from '../store/reads.js';
import { hold } from '../testing/records.js';
import { books } from './0001-books.js';
import { migrations } from './index.js';

it.each(testEngines)('keeps holds of the version before, and takes those that it goes on to write, on %s', async (engine) => {
  const test = await createTestDatabase(engine);
  try {
    await migrate(test.db, [books]);
    const asBefore = (id: string) => {
      const settled = hold({ id, state: HoldState.HOLD_STATE_SETTLED, capturedNanoUsd: 7n, lastSeq: 3n });
      const values = fromHold(settled, accountColumns(settled.accountId, engine));
      const known = [...holdTable.columns.entries()].filter(([, column]) => column !== 'refunded_nano_usd' && column !== 'charge_seq');
      return Object.fromEntries(known.map(([index, column]) => [column, values[index]]));
    };
    const ids = ['1', '2'].map((digit) => `req_${digit.repeat(32)}`);
    await test.db.knex('hold').insert(asBefore(ids[0]!));
    await migrate(test.db, migrations);
    await test.db.knex('hold').insert(asBefore(ids[1]!));
    const stored = await new Reads(test.db).holds(hold().accountId, ids);
    expect(stored).toHaveLength(2);
    for (const each of stored) expect(each).toMatchObject({ capturedNanoUsd: 7n, refundedNanoUsd: 0n, chargeSeq: 0n, lastSeq: 3n });
  } finally {
    await test.drop();
  }
});
