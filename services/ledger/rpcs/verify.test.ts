// Verify finds every way in which stored figures can differ from what the journal and the holds add up to.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { TurnCounter } from '#kit/testing/turns.js';
import { EntryKind, HoldState } from '#proto/ledger/v1/ledger.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { type Customer, fundedCustomer, holdRequest, refundRequest, settleRequest } from '../testing/requests.js';
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
    return Object.fromEntries(response.drifts.map((drift) => [drift.subject, [drift.storedNanoUsd, drift.rebuiltNanoUsd]]));
  };

  it('reports how much it checked', async () => {
    await fundedCustomer(ledger.service, 5n);
    expect(await ledger.service.verify({ accountId: '' })).toEqual({
      accountsChecked: 2n,
      entriesChecked: 3n,
      openHolds: 1n,
      sumNanoUsd: 0n,
      drifts: [],
    });
    expect(await ledger.service.verify({ accountId: customer.accountId })).toMatchObject({ accountsChecked: 1n, entriesChecked: 2n });
  });

  it('is kept for GetHealth, with the holds that are open', async () => {
    const before = await ledger.service.getHealth({});
    expect(before).toMatchObject({
      openHolds: 1n,
      holdsPastExpiry: 0n,
      process: { databaseEngine: engine === 'sqlite' ? 'SQLite' : 'MariaDB' },
    });
    expect(before.lastCheck).toBeUndefined();
    const { hold: open } = await ledger.service.getHold({ holdId: openHoldId, accountId: customer.accountId });
    expect(before.oldestOpenHoldAtMs).toBe(open!.createdAtMs);
    await ledger.service.verify({ accountId: customer.accountId });
    expect((await ledger.service.getHealth({})).lastCheck).toBeUndefined();
    await accountBucket().update({ spent_nano_usd: 71n });
    await ledger.service.verify({ accountId: '' });
    expect((await ledger.service.getHealth({})).lastCheck).toMatchObject({
      accountsChecked: 1n,
      entriesChecked: 2n,
      sumNanoUsd: 0n,
      drifts: expect.any(Number),
    });
    expect((await ledger.service.getHealth({})).lastCheck!.drifts).toBeGreaterThan(0);
  });

  it('finds a wrong balance, and logs it', async () => {
    await accountBucket().update({ spent_nano_usd: 71n, cap_nano_usd: 1_003n });
    expect(await drifts()).toEqual({ spent: [71n, 70n], credited: [1_003n, 1_000n], 'credited less spent': [932n, 930n] });
    expect(ledger.logLines.filter((line) => line.includes('the books disagree'))).toHaveLength(3);
  });

  it('finds money that is held by no hold', async () => {
    await hold(openHoldId).delete();
    expect(await drifts()).toEqual({ held: [50n, 0n], [`held of ${customer.keyId}`]: [50n, 0n] });
  });

  it('finds a wrong spend of a key, and a missing key', async () => {
    await keyBucket().update({ spent_nano_usd: 60n });
    expect(await drifts()).toEqual({ [`spent of ${customer.keyId}`]: [60n, 70n] });
    await keyBucket().delete();
    expect(await drifts()).toEqual({ [`spent of ${customer.keyId}`]: [0n, 70n], [`held of ${customer.keyId}`]: [0n, 50n] });
  });

  it('finds a gap in the journal', async () => {
    await table('journal').where({ seq: 1 }).delete();
    expect(await drifts()).toMatchObject({ 'number of entry 2': [2n, 1n], credited: [1_000n, 0n] });
  });

  it('finds a missing last entry and an extra one', async () => {
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

  it('finds a hold whose captured amount differs from what was booked', async () => {
    await hold(settledHoldId).update({ captured_nano_usd: 80n, shortfall_nano_usd: 1n });
    expect(await drifts()).toEqual({ [`captured of ${settledHoldId}`]: [80n, 70n], [`shortfall of ${settledHoldId}`]: [1n, 0n] });
  });

  it('finds an account whose balance was lost altogether', async () => {
    await accountBucket().delete();
    expect(await drifts()).toMatchObject({ seq: [0n, 2n], credited: [0n, 1_000n], spent: [0n, 70n], held: [0n, 50n] });
  });

  it('finds a hold that no entry supports', async () => {
    const free = (await ledger.service.hold(holdRequest(customer, 10n))).hold!.id;
    await ledger.service.settle(settleRequest(customer, free, 0n));
    await hold(free).update({ captured_nano_usd: 5n });
    expect(await drifts()).toEqual({ [`captured of ${free}`]: [5n, 0n] });
    await hold(free).update({ captured_nano_usd: 0n, shortfall_nano_usd: 5n });
    expect(await drifts()).toEqual({ [`shortfall of ${free}`]: [5n, 0n] });
    await hold(free).update({ shortfall_nano_usd: 0n, last_seq: 1n });
    expect(await drifts()).toEqual({ [`entry named by ${free}`]: [1n, 0n] });
  });

  it('finds a settled hold under another key, with another last entry, and in another state', async () => {
    await hold(settledHoldId).update({ key_id: bytesOf('key', newId('key')) });
    expect(await drifts()).toEqual({ [`entry named by ${settledHoldId}`]: [2n, 0n] });
    await hold(settledHoldId).update({ key_id: bytesOf('key', customer.keyId), last_seq: 9n, captured_nano_usd: 1n });
    expect(await drifts()).toEqual({ [`entry named by ${settledHoldId}`]: [9n, 0n] });
    await hold(settledHoldId).update({ last_seq: 2n, captured_nano_usd: 70n, state: HoldState.HOLD_STATE_EXPIRED });
    expect(await drifts()).toEqual({ [`checkpoint at the end of ${settledHoldId}`]: [0n, 70n] });
    await hold(settledHoldId).update({ state: 9 });
    expect(await drifts()).toEqual({ [`state of ${settledHoldId}`]: [9n, 2n] });
  });

  it('finds a deposit that a repeat would book again', async () => {
    await table('op').update({ result_seq: 7n });
    expect(await drifts()).toEqual({ 'operation of entry 1': [7n, 1n] });
    await table('op').delete();
    expect(await drifts()).toEqual({ 'operation of entry 1': [0n, 1n] });
  });

  it('finds a refund of more than was charged, of another call, or that its hold does not record', async () => {
    await ledger.service.refund(refundRequest(customer, settledHoldId, 30n));
    expect(await drifts()).toEqual({});
    const refund = () => table('journal').where({ seq: 3 });
    for (const linked_seq of [1, 3, 9, null]) {
      await refund().update({ linked_seq });
      expect(await drifts()).toEqual({ 'link of entry 3': [BigInt(linked_seq ?? 0), 2n] });
    }
    await refund().update({ linked_seq: 2 });
    await hold(settledHoldId).update({ refunded_nano_usd: 0n });
    expect(await drifts()).toEqual({ [`refunded of ${settledHoldId}`]: [0n, 30n] });
    await hold(settledHoldId).update({ refunded_nano_usd: 71n });
    await refund().update({ amount_nano_usd: 71n });
    expect(await drifts()).toMatchObject({ 'refunded up to entry 3': [71n, 70n], 'spent after entry 3': [40n, -1n] });
    await refund().update({ amount_nano_usd: 30n });
    await hold(settledHoldId).update({ refunded_nano_usd: 30n });
    await table('op').where({ result_seq: 3n }).delete();
    expect(await drifts()).toEqual({ 'operation of entry 3': [0n, 3n] });
  });

  it('finds an entry that records more held than there was', async () => {
    await table('journal').where({ seq: 2 }).update({ held_after_nano_usd: 931n });
    expect(await drifts()).toEqual({ 'held after entry 2': [931n, 930n] });
  });

  it('continues when an entry has lost its reference', async () => {
    await table('journal').where({ seq: 1 }).update({ kind: EntryKind.ENTRY_KIND_CHARGE });
    expect(await drifts()).toHaveProperty(['posting of entry 1']);
    await table('journal').where({ seq: 2 }).update({ hold_id: null });
    expect(await drifts()).toHaveProperty([`entry named by ${settledHoldId}`]);
  });

  it('is not misled by concurrent writes', async () => {
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

  it('pages through more entries and holds of an account than a page contains, and lets other work of the process run after each page', async () => {
    const granted = await Promise.all(Array.from({ length: 1200 }, () => ledger.service.hold(holdRequest(customer, 0n))));
    const ids = granted.map(({ hold: made }) => made!.id).sort();
    await Promise.all(ids.slice(0, 500).map((id) => ledger.service.settle(settleRequest(customer, id, 1n))));
    const pagesMin = 500 / 200 + 1200 / 500;
    const counter = new TurnCounter();
    expect(await ledger.service.verify({ accountId: '' })).toMatchObject({ entriesChecked: 502n, drifts: [] });
    counter.stop();
    expect(counter.turns).toBeGreaterThanOrEqual(pagesMin);
    for (const id of [ids.at(0)!, ids.at(700)!, ids.at(-1)!]) await hold(id).update({ shortfall_nano_usd: 3n, last_seq: 0n, state: 9 });
    const found = Object.keys(await drifts());
    for (const id of [ids.at(700)!, ids.at(-1)!]) expect(found).toContain(`shortfall of ${id}`);
    expect(found.some((what) => what.includes(ids[0]!))).toBe(true);
  }, 30_000);
});
