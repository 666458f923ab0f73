// Verify finds every way in which stored figures can differ from what the journal and the holds add up to.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import { EntryKind } from '#proto/ledger/v1/ledger.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { type Customer, fundedCustomer, holdRequest, settleRequest } from '../testing/requests.js';
import { bytesOf, accountScope } from '../store/rows.js';

describe.each(testEngines)('Verify on %s', (engine) => {
  let ledger: TestLedger;
  let customer: Customer;
  let openHoldId: string;
  let settledHoldId: string;

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
    customer = await fundedCustomer(ledger.service, 1_000n);
    settledHoldId = (await ledger.service.hold(holdRequest(customer, 100n))).hold!.id;
    await ledger.service.settle(settleRequest(customer, settledHoldId, 70n));
    openHoldId = (await ledger.service.hold(holdRequest(customer, 50n))).hold!.id;
  });

  afterEach(() => ledger.stop());

  const table = (name: string) => ledger.db.knex(name);
  const hold = (id: string) => table('hold').where({ id: bytesOf('req', id) });
  const keyBucket = () => table('bucket').where({ scope_id: bytesOf('key', customer.keyId) });
  const accountBucket = () => table('bucket').where({ scope_id: accountScope });
  const drifts = async (): Promise<Record<string, [bigint, bigint]>> => {
    const response = await ledger.service.verify({ accountId: '' });
    return Object.fromEntries(response.drifts.map((drift) => [drift.what, [drift.storedNanoUsd, drift.rebuiltNanoUsd]]));
  };

  it('says how much it looked at', async () => {
    await fundedCustomer(ledger.service, 5n);
    expect(await ledger.service.verify({ accountId: '' })).toEqual({ accountsChecked: 2n, entriesChecked: 3n, openHolds: 1n, sumNanoUsd: 0n, drifts: [] });
    expect(await ledger.service.verify({ accountId: customer.accountId })).toMatchObject({ accountsChecked: 1n, entriesChecked: 2n });
  });

  it('finds a wrong balance, and logs it', async () => {
    await accountBucket().update({ spent_nano_usd: 71n, cap_nano_usd: 1_003n });
    expect(await drifts()).toEqual({ spent: [71n, 70n], credited: [1_003n, 1_000n], 'credited less spent': [932n, 930n] });
    expect(ledger.logLines.filter((line) => line.includes('the books disagree'))).toHaveLength(3);
  });

  it('finds money that is held for nobody', async () => {
    await hold(openHoldId).delete();
    expect(await drifts()).toEqual({ held: [50n, 0n], [`held of ${customer.keyId}`]: [50n, 0n] });
  });

  it('finds a wrong spend of a key, and a key that was forgotten', async () => {
    await keyBucket().update({ spent_nano_usd: 60n });
    expect(await drifts()).toEqual({ [`spent of ${customer.keyId}`]: [60n, 70n] });
    await keyBucket().delete();
    expect(await drifts()).toEqual({ [`spent of ${customer.keyId}`]: [0n, 70n], [`held of ${customer.keyId}`]: [0n, 50n] });
  });

  it('finds a gap in the journal', async () => {
    await table('journal').where({ seq: 1 }).delete();
    expect(await drifts()).toMatchObject({ 'number of entry 2': [2n, 1n], credited: [1_000n, 0n] });
  });

  it('finds a missing last entry and one too many', async () => {
    const charge = await table('journal').where({ seq: 2 }).first();
    await table('journal').where({ seq: 2 }).delete();
    expect(await drifts()).toMatchObject({ seq: [2n, 1n], spent: [70n, 0n] });
    await table('journal').insert([charge, { ...charge, seq: 3n }]);
    expect(await drifts()).toMatchObject({ seq: [2n, 3n], spent: [70n, 140n], [`last entry of ${settledHoldId}`]: [2n, 3n] });
  });

  it('finds an entry that was changed', async () => {
    await table('journal').where({ seq: 2 }).update({ amount_nano_usd: 69n });
    expect(await drifts()).toMatchObject({ 'spent after entry 2': [70n, 69n], [`captured of ${settledHoldId}`]: [70n, 69n] });
    await table('journal').where({ seq: 2 }).update({ amount_nano_usd: 70n, kind: EntryKind.ENTRY_KIND_DEPOSIT });
    expect(await drifts()).toHaveProperty(['posting of entry 2']);
  });

  it('finds a hold that captured other than was booked', async () => {
    await hold(settledHoldId).update({ captured_nano_usd: 80n, shortfall_nano_usd: 1n });
    expect(await drifts()).toEqual({ [`captured of ${settledHoldId}`]: [80n, 70n], [`shortfall of ${settledHoldId}`]: [1n, 0n] });
  });

  it('is not misled by writes that happen meanwhile', async () => {
    const writes = Array.from({ length: 30 }, async () => {
      const { hold: granted } = await ledger.service.hold(holdRequest(customer, 10n));
      await ledger.service.settle(settleRequest(customer, granted!.id, 12n));
    });
    const checks = Array.from({ length: 10 }, () => ledger.service.verify({ accountId: '' }));
    for (const check of await Promise.all(checks)) expect(check.drifts).toEqual([]);
    await Promise.all(writes);
  });

  it('pages through more accounts than a page holds', async () => {
    for (let index = 0; index < 205; index += 1) await fundedCustomer(ledger.service, 1n);
    expect(await ledger.service.verify({ accountId: '' })).toMatchObject({ accountsChecked: 206n, entriesChecked: 207n, drifts: [] });
  }, 30_000);
});
