// Creates a ledger's database for the benchmark, with accounts that have more funds than a run can spend.
import { systemClock } from '#kit/clock.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import { newId } from '#kit/id.js';
import { DepositSource } from '#proto/ledger/v1/ledger.js';
import { migrations } from '#services/ledger/migrations/index.js';
import { createOperationLane, type OperationLane } from '#services/ledger/lane/operation-lane.js';
import { depositOperation } from '#services/ledger/requests/operations.js';
import { createStore } from '#services/ledger/store/store.js';
import { type Engine, newDatabase } from '../database.ts';

export type { Engine };

/** An account and its key. */
export interface Customer {
  readonly accountId: string;
  readonly keyId: string;
}

/** The open books. */
export interface Books {
  readonly customers: readonly Customer[];
  readonly db: Database;
  readonly lane: OperationLane;
  /** Throws if money was created or lost: held must be zero, and spent must equal the journal. */
  verify(): Promise<void>;
  /** Closes and removes the database. */
  close(): Promise<void>;
}

/** Creates the books of this many accounts. MySQL needs TOLLGATE_BENCH_MYSQL_URL, a server whose user may create schemas. */
export async function openBooks(engine: Engine, accounts: number, lanes: number): Promise<Books> {
  const { url, drop } = await newDatabase(engine);
  const db = openDatabase(url);
  await migrate(db, migrations);
  const store = createStore(db, { appendRecords: async () => undefined, wake: () => undefined });
  const lane = createOperationLane({ config: { queueMax: 100_000, lanes }, engine, store, clock: systemClock });
  const customers = Array.from({ length: accounts }, () => ({ accountId: newId('acct'), keyId: newId('key') }));
  await Promise.all(
    customers.map(async ({ accountId }) => {
      const deposit = {
        idempotencyKey: 'start',
        accountId,
        amountNanoUsd: 10n ** 15n,
        source: DepositSource.DEPOSIT_SOURCE_CASH,
        reason: '',
      };
      const { refusal } = await lane.add(depositOperation(deposit));
      if (refusal !== undefined) throw refusal;
    }),
  );
  return {
    customers,
    db,
    lane,
    async verify() {
      const [sums] = await db.knex('bucket').sum({ held: 'held_nano_usd', spent: 'spent_nano_usd' }).whereNotNull('cap_nano_usd');
      const [charges] = await db.knex('journal').sum({ charged: 'amount_nano_usd' }).where({ kind: 2 });
      if (BigInt(sums!['held']) !== 0n || BigInt(sums!['spent']) !== BigInt(charges!['charged']))
        throw new Error(`The books disagree: ${JSON.stringify({ ...sums, ...charges }, (_, value) => String(value))}`);
    },
    async close() {
      await db.close();
      await drop();
    },
  };
}
