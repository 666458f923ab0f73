// A failed transaction leaves nothing behind, and the database itself rejects impossible states.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isCheckViolation } from '#kit/db/errors.js';
import { testEngines, untilWaiting } from '#kit/testing/database.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { type Customer, depositRequest, fundedCustomer, holdRequest, settleRequest } from '../testing/requests.js';
import { Reads } from './reads.js';
import { accountColumns, accountScope } from './rows.js';

describe.each(testEngines)('the store on %s', (engine) => {
  let ledger: TestLedger;
  let customer: Customer;

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
    customer = await fundedCustomer(ledger.service, 100n);
  });

  afterEach(() => ledger.stop());

  const bucket = () => ledger.db.knex('bucket').where({ ...accountColumns(customer.accountId, engine), scope_id: accountScope });

  it('leaves no trace of a settlement whose journal entry cannot be written', async () => {
    const { hold } = await ledger.service.hold(holdRequest(customer, 60n));
    const deposit = await ledger.db.knex('journal').first();
    // An entry with the next number simulates another writer, or a database that fails halfway: buckets and hold are written before.
    await ledger.db.knex('journal').insert({ ...deposit, seq: 2n });
    await expect(ledger.service.settle(settleRequest(customer, hold!.id, 40n))).rejects.toThrow();
    const { balance } = await ledger.service.getBalance({ accountId: customer.accountId });
    expect(balance).toMatchObject({ spentNanoUsd: 0n, heldNanoUsd: 60n, seq: 1n });
    expect((await ledger.service.getHold({ holdId: hold!.id, accountId: customer.accountId })).hold).toEqual(hold);
    const { keys } = await ledger.service.listKeySpend({ accountId: customer.accountId, keyIds: [] });
    expect(keys).toMatchObject([{ spentNanoUsd: 0n, heldNanoUsd: 60n }]);

    await ledger.db.knex('journal').where({ seq: 2 }).delete();
    await ledger.service.settle(settleRequest(customer, hold!.id, 40n));
    expect((await ledger.service.verify({ accountId: customer.accountId })).drifts).toEqual([]);
  });

  // A SQLite file shows a transaction one state anyway.
  if (engine === 'mysql')
    it('reads an account with its holds as of one instant', async () => {
      await ledger.service.hold(holdRequest(customer, 60n));
      const locker = await ledger.db.knex.transaction();
      await locker.raw('LOCK TABLES hold WRITE');
      const read = new Reads(ledger.db).snapshot(customer.accountId);
      // The bucket is read already.
      await untilWaiting(ledger.db, 'from `hold`', 1);
      await locker('hold').delete();
      await locker.raw('UNLOCK TABLES');
      await locker.commit();
      const { account, openHolds } = await read;
      expect([account?.heldNanoUsd, openHolds.map(({ amountNanoUsd }) => amountNanoUsd)]).toEqual([60n, [60n]]);
    });

  it('leaves no trace of a deposit whose idempotency key cannot be stored', async () => {
    const request = depositRequest(customer, 7n);
    await ledger.db.knex.schema.renameTable('op', 'op_away');
    await expect(ledger.service.deposit(request)).rejects.toThrow();
    await ledger.db.knex.schema.renameTable('op_away', 'op');
    expect((await ledger.service.getBalance({ accountId: customer.accountId })).balance).toMatchObject({ creditedNanoUsd: 100n, seq: 1n });
    expect((await ledger.service.deposit(request)).replayed).toBe(false);
  });

  it('has a database that rejects a negative account', async () => {
    for (const broken of [{ spent_nano_usd: 101n }, { held_nano_usd: 101n }, { spent_nano_usd: -1n }, { held_nano_usd: -1n }]) {
      const error = await bucket()
        .update(broken)
        .then(
          () => undefined,
          (failure: unknown) => failure,
        );
      expect(isCheckViolation(error)).toBe(true);
    }
  });
});
