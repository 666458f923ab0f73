// Every way in which metering and the ledger can disagree is found and named; a system that is merely busy has no drifts.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callContext } from '#client/call-context.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { silentLog as log } from '#kit/testing/log.js';
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { DriftCheck, Outcome, UnsettledState } from '#proto/metering/v1/metering.js';
import { Archiver } from '../archive/archiver.js';
import { call, report, tokens } from '../testing/calls.js';
import { find, until } from '../testing/harness.js';
import { type Customer, heldNanoUsd, type Money, startMoney } from '../testing/with-ledger.js';

// Each test creates two databases and waits for settlements.
jest.setTimeout(60_000);

const bytes = (id: string): Buffer => Buffer.from(id.slice(id.indexOf('_') + 1), 'hex');
const charge = 200_000n;

describe.each(testEngines)('the reconcile on %s', (engine) => {
  let money: Money;
  let customer: Customer;
  /** A settled call, and another that is left alone. */
  let id: string;

  beforeEach(async () => {
    money = await startMoney(engine);
    customer = await money.customer();
    id = await money.makeCall(customer);
    await money.makeCall(await money.customer());
  });

  afterEach(() => money.stop());

  const record = () => money.meteringDb.knex('usage_record').where({ id: bytes(id) });
  const hold = () => money.ledgerDb.knex('hold').where({ id: bytes(id) });

  /** Expects one drift, of this call. */
  async function expectDrift(check: DriftCheck, what: string, stored: bigint, expected: bigint, callId = id): Promise<void> {
    expect((await money.reconcile()).drifts).toEqual([{ check, accountId: customer.accountId, callId, subject: what, stored, expected }]);
  }

  it('finds nothing wrong in correct books, and reports what it checked', async () => {
    expect(await money.reconcile()).toMatchObject({ recordsChecked: 2n, holdsChecked: 2n, drifts: [] });
    expect(await money.reconcile(customer.accountId)).toMatchObject({ recordsChecked: 1n, holdsChecked: 1n, drifts: [] });
  });

  it('finds a charge that was changed', async () => {
    await record().update({ charge_nano_usd: charge + 1n });
    expect((await money.reconcile()).drifts).toMatchObject([
      { check: DriftCheck.DRIFT_CHECK_CHARGE, callId: id, subject: 'charge', stored: charge + 1n, expected: charge },
      { check: DriftCheck.DRIFT_CHECK_SETTLEMENT, stored: charge, expected: charge + 1n },
    ]);
  });

  it('finds token counts that were changed', async () => {
    await record().update({ output_tokens: 51 });
    await expectDrift(DriftCheck.DRIFT_CHECK_CHARGE, 'charge', charge, charge + 2_000n);
  });

  it('finds tokens and charge changed together, by what the ledger captured', async () => {
    await record().update({ output_tokens: 51, charge_nano_usd: charge + 2_000n, captured_nano_usd: charge + 2_000n });
    await expectDrift(DriftCheck.DRIFT_CHECK_HOLD, 'captured by the hold', charge, charge + 2_000n);
  });

  it('finds a call whose charge was set to zero', async () => {
    await record().update({ free: 1 });
    await expectDrift(DriftCheck.DRIFT_CHECK_CHARGE, 'charge', charge, 0n);
  });

  it('finds a call that began after its price was replaced, or before its price began', async () => {
    const startedAtMs = BigInt(money.clock.nowMs());
    const [used] = money.catalog;
    const next = { ...used!, id: newId('price'), effectiveFromMs: startedAtMs + 1n };
    money.catalog.push(next);
    expect((await money.reconcile()).drifts).toEqual([]);
    next.effectiveFromMs = startedAtMs;
    const { drifts } = await money.reconcile();
    expect(drifts).toHaveLength(2);
    for (const drift of drifts)
      expect(drift).toMatchObject({
        check: DriftCheck.DRIFT_CHECK_PRICE,
        subject: 'start of a call whose price had ended',
        stored: startedAtMs,
        expected: startedAtMs,
      });
    next.effectiveFromMs = startedAtMs + 1n;
    money.catalog[0] = { ...used!, effectiveFromMs: startedAtMs + 1n };
    expect((await money.reconcile()).found).toMatchObject({
      'start of a call whose price began later': [startedAtMs, startedAtMs + 1n],
    });
  });

  it('finds a price that was altered, on a record and in the catalog', async () => {
    await record().update({ cache_read_nano_usd_per_mtok: 7n });
    await expectDrift(DriftCheck.DRIFT_CHECK_PRICE, 'cache read price', 7n, 100_000_000n);
    await record().update({ cache_read_nano_usd_per_mtok: 100_000_000n, price_id: bytes(newId('price')) });
    expect((await money.reconcile()).drifts).toMatchObject([
      { check: DriftCheck.DRIFT_CHECK_PRICE, subject: expect.stringContaining('does not know') },
    ]);
  });

  it('finds a call at a price that the catalog has never published', async () => {
    const other = await money.makeCall(customer, {});
    await money.meteringDb
      .knex('usage_record')
      .where({ id: bytes(other) })
      .update({ reasoning_nano_usd_per_mtok: 1n });
    await expectDrift(DriftCheck.DRIFT_CHECK_PRICE, 'reasoning price', 1n, -1n, other);
  });

  it('finds a settlement that was changed on the record', async () => {
    await record().update({ captured_nano_usd: charge - 1n, shortfall_nano_usd: 1n });
    expect((await money.reconcile()).found).toEqual({ 'captured by the hold': [charge, charge - 1n], 'shortfall of the hold': [0n, 1n] });
    await record().update({ shortfall_nano_usd: 0n });
    expect((await money.reconcile()).found).toHaveProperty(['captured and shortfall on record'], [charge - 1n, charge]);
  });

  it('finds a hold that captured a different amount', async () => {
    await hold().update({ captured_nano_usd: charge + 5n });
    await expectDrift(DriftCheck.DRIFT_CHECK_HOLD, 'captured by the hold', charge + 5n, charge);
  });

  it('finds a hold that was moved to another state, another key, another amount', async () => {
    for (const state of [HoldState.HOLD_STATE_OPEN, HoldState.HOLD_STATE_RELEASED, HoldState.HOLD_STATE_EXPIRED]) {
      await hold().update({ state });
      expect((await money.reconcile()).drifts).toMatchObject([
        { check: DriftCheck.DRIFT_CHECK_HOLD, callId: id, stored: BigInt(state), expected: 2n },
      ]);
    }
    await hold().update({ state: HoldState.HOLD_STATE_SETTLED, key_id: bytes(newId('key')) });
    expect((await money.reconcile()).drifts).toMatchObject([
      { check: DriftCheck.DRIFT_CHECK_HOLD, subject: expect.stringContaining(customer.keyId) },
    ]);
    await hold().update({ key_id: bytes(customer.keyId), amount_nano_usd: heldNanoUsd + 1n });
    await expectDrift(DriftCheck.DRIFT_CHECK_HOLD, 'amount of the hold', heldNanoUsd + 1n, heldNanoUsd);
  });

  it('finds a hold that is gone', async () => {
    await hold().delete();
    await expectDrift(DriftCheck.DRIFT_CHECK_HOLD, 'hold of a settled call, which is missing', 0n, charge);
  });

  it('does not report a hold that the ledger has archived', async () => {
    const settledAtMs = Number((await record().first()).settled_at_ms);
    const archivedUntil = (ms: number) => ({ slot: 0, account_id: Buffer.alloc(16), seq: 0n, until_ms: ms, sums: '' });
    await hold().delete();
    await money.ledgerDb.knex('journal_base').insert(archivedUntil(settledAtMs - 7_200_000));
    await expectDrift(DriftCheck.DRIFT_CHECK_HOLD, 'hold of a settled call, which is missing', 0n, charge);
    await money.ledgerDb.knex('journal_base').update(archivedUntil(settledAtMs + 1));
    expect((await money.reconcile()).drifts).toEqual([]);
    // The outcome of the settlement was stored days later.
    await record().update({ settled_at_ms: settledAtMs + 3 * 86_400_000 });
    expect((await money.reconcile()).drifts).toEqual([]);
  });

  it('does not report a record that metering has archived', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-archive-'));
    const config = { archiveDir: folder, archiveIntervalMs: 1000, retentionDays: 35 };
    money.clock.advance(36 * 86_400_000);
    await new Archiver({ config, db: money.meteringDb, clock: money.clock, log }).archive(folder);
    rmSync(folder, { recursive: true });
    expect(await record()).toEqual([]);
    expect((await money.reconcile()).drifts).toEqual([]);
    const young = await money.makeCall(customer);
    await new Archiver({ config: { ...config, retentionDays: 40 }, db: money.meteringDb, clock: money.clock, log }).archive(folder);
    expect((await money.reconcile()).drifts).toEqual([]);
    await money.meteringDb
      .knex('usage_record')
      .where({ id: bytes(young) })
      .delete();
    expect((await money.reconcile()).found).toEqual({ 'settled without a record': [charge, 0n] });
  });

  it('finds a record that is gone', async () => {
    await record().delete();
    await expectDrift(DriftCheck.DRIFT_CHECK_RECORD_MISSING, 'settled without a record', charge, 0n);
  });

  it('finds a record that was given to another account', async () => {
    const stranger = await money.customer();
    await record().update({ account_id: bytes(stranger.accountId) });
    expect((await money.reconcile()).drifts).toMatchObject([
      { check: DriftCheck.DRIFT_CHECK_HOLD, accountId: stranger.accountId, callId: id, stored: 0n },
      { check: DriftCheck.DRIFT_CHECK_RECORD_MISSING, accountId: customer.accountId, callId: id, stored: charge },
    ]);
  });

  it('finds a charge that was settled a second time under another id', async () => {
    const other = newId('req');
    await money.ledger.settle(
      { holdId: other, accountId: customer.accountId, keyId: customer.keyId, costNanoUsd: charge },
      callContext({ caller: 'metering' }),
    );
    await expectDrift(DriftCheck.DRIFT_CHECK_RECORD_MISSING, 'settled without a record', charge, 0n, other);
  });

  it('finds a charge that vanished from the outbox', async () => {
    await record().update({ captured_nano_usd: null, shortfall_nano_usd: null, settled_at_ms: null });
    await expectDrift(DriftCheck.DRIFT_CHECK_OUTBOX_LOST, 'charge that is neither settled nor waiting', 0n, charge);
  });

  it('finds charges in the outbox without a record, or with another charge than its record', async () => {
    const row = {
      account_id: bytes(customer.accountId),
      key_id: bytes(customer.keyId),
      state: 1,
      attempts: 1,
      next_attempt_at_ms: 0,
      created_at_ms: 0,
      last_error: 'refused',
    };
    const other = newId('req');
    await money.meteringDb.knex('outbox').insert({ ...row, id: bytes(other), charge_nano_usd: 9n });
    await expectDrift(DriftCheck.DRIFT_CHECK_RECORD_MISSING, 'charge that waits without a record', 9n, 0n, other);
    await money.meteringDb.knex('outbox').delete();
    await record().update({ captured_nano_usd: null, shortfall_nano_usd: null, settled_at_ms: null });
    await money.meteringDb.knex('outbox').insert({ ...row, id: bytes(id), charge_nano_usd: 9n });
    expect((await money.reconcile()).found).toMatchObject({
      'charge that waits for the ledger': [9n, charge],
      'charge that the ledger refused': [0n, charge],
    });
  });

  const letWait = async (state: number): Promise<void> => {
    await record().update({ captured_nano_usd: null, shortfall_nano_usd: null, settled_at_ms: null });
    const nowMs = money.clock.nowMs();
    await money.meteringDb.knex('outbox').insert({
      id: bytes(id),
      account_id: bytes(customer.accountId),
      key_id: bytes(customer.keyId),
      charge_nano_usd: charge,
      state,
      attempts: 3,
      next_attempt_at_ms: nowMs + 86_400_000,
      created_at_ms: nowMs,
      last_error: '',
    });
  };

  it('finds a charge that has waited too long', async () => {
    await letWait(0);
    expect((await money.reconcile()).drifts).toEqual([]);
    money.clock.advance(600_001);
    await expectDrift(DriftCheck.DRIFT_CHECK_UNSETTLED, 'charge that has waited too long', 0n, charge);
  });

  it('finds the charge of a lost call that has waited too long since gateways could report it', async () => {
    await letWait(2);
    money.clock.advance(600_000);
    // After this, gateways get their time again.
    money.clock.step(2000);
    expect((await money.reconcile()).drifts).toEqual([]);
    money.clock.advance(600_001);
    await expectDrift(DriftCheck.DRIFT_CHECK_UNSETTLED, 'charge that has waited too long', 0n, charge);
  });

  it('finds a hold that captured and expired long ago without a record, but not one that may still be recorded', async () => {
    const open = await money.hold(customer);
    await money.ledger.checkpoint({ items: [{ holdId: open, accountId: customer.accountId, costSoFarNanoUsd: 77n, ttlMs: 60_000 }] });
    money.clock.advance(61_000);
    await money.ledger.expireHolds({ limit: 10 });
    expect((await money.reconcile()).drifts).toEqual([]);
    money.clock.advance(600_000);
    await expectDrift(DriftCheck.DRIFT_CHECK_RECORD_MISSING, 'captured by a hold that expired without a record', 77n, 0n, open);
  });

  it('finds a hold that is open long after its expiry', async () => {
    const open = await money.hold(customer);
    expect((await money.reconcile()).drifts).toEqual([]);
    money.clock.advance(120_001);
    await expectDrift(DriftCheck.DRIFT_CHECK_HOLD_OVERDUE, 'held after its expiry', heldNanoUsd, 0n, open);
  });

  it('accepts free calls, shortfalls, lost holds and refunds', async () => {
    await money.makeCall(customer, { outcome: Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT });
    const poor = await money.customer(heldNanoUsd);
    await money.makeCall(poor, { tokens: tokens({ outputTokens: 1000, inputTokens: 4_000_000 }) });
    const lost = call({ ...customer, price: money.catalog[0]!, heldNanoUsd });
    await money.metering.recordUsage(report({ call: lost }));
    await until(async () => (await find(money.metering, lost.id))?.settlement !== undefined);
    await money.ledger.refund({ idempotencyKey: 'r', accountId: customer.accountId, holdId: id, amountNanoUsd: 5n, reason: 'kindness' });
    const released = await money.hold(customer);
    await money.ledger.release({ holdId: released, accountId: customer.accountId });
    await money.ledger.release({ holdId: newId('req'), accountId: customer.accountId });
    money.clock.advance(3_600_000);
    expect(await money.reconcile()).toMatchObject({ recordsChecked: 5n, holdsChecked: 7n, drifts: [] });
  });

  it('finds nothing wrong in a busy system, and goes through several pages', async () => {
    const customers = await Promise.all(Array.from({ length: 5 }, () => money.customer()));
    let isBusy = true;
    const traffic = Promise.all(
      customers.map(async (each) => {
        for (let made = 0; made < 50 || isBusy; made += 1) await money.makeCall(each);
      }),
    );
    await until(async () => Number((await money.meteringDb.knex('usage_record').count({ n: '*' }))[0]!['n']) > 210);
    for (let round = 0; round < 3; round += 1) expect((await money.reconcile()).drifts).toEqual([]);
    isBusy = false;
    await traffic;
    const { recordsChecked, holdsChecked, drifts } = await money.reconcile();
    expect(drifts).toEqual([]);
    expect(recordsChecked).toBeGreaterThanOrEqual(252n);
    expect(holdsChecked).toBe(recordsChecked);
  });

  it.each(['a call', 'a lost call'])('lists the charge of %s while it waits for the ledger', async (what) => {
    await letWait(what === 'a call' ? 0 : 2);
    const { UNSETTLED_STATE_UNSPECIFIED: any, UNSETTLED_STATE_PENDING: waits, UNSETTLED_STATE_REJECTED: rejected } = UnsettledState;
    for (const [state, found] of [
      [any, [id]],
      [waits, [id]],
      [rejected, []],
    ] as const) {
      const { charges } = await money.metering.listUnsettledCharges({ accountId: '', state, pageSize: 0, pageToken: '' });
      const why = what === 'a call' ? '' : expect.stringContaining('may still report');
      expect(charges.map(({ callId, state: is, error }) => [callId, is, error])).toEqual(found.map((callId) => [callId, waits, why]));
    }
  });

  it('lists a charge that the ledger refused, until it is settled after all or closed with a reason', async () => {
    const open = await money.hold(customer);
    await money.ledger.release({ holdId: open, accountId: customer.accountId });
    await money.metering.recordUsage(report({ call: call({ ...customer, id: open, heldNanoUsd, price: money.catalog[0]! }) }));
    const listed = async (state = UnsettledState.UNSETTLED_STATE_UNSPECIFIED) =>
      (await money.metering.listUnsettledCharges({ accountId: '', state, pageSize: 0, pageToken: '' })).charges;
    const isRefused = async (): Promise<boolean> => (await listed(UnsettledState.UNSETTLED_STATE_REJECTED)).length === 1;
    await until(isRefused);
    await expectDrift(DriftCheck.DRIFT_CHECK_REJECTED, 'charge that the ledger refused', 0n, charge, open);
    expect(await listed()).toMatchObject([
      {
        callId: open,
        accountId: customer.accountId,
        keyId: customer.keyId,
        chargeNanoUsd: charge,
        state: UnsettledState.UNSETTLED_STATE_REJECTED,
        error: expect.stringContaining('hold'),
      },
    ]);

    expect(await money.metering.retrySettlement({ callId: '' })).toEqual({ retried: 1n });
    await until(async () => (await listed())[0]?.attempts === 2 && (await isRefused()));
    await expect(money.metering.closeSettlement({ callId: open, reason: ' ' })).rejects.toMatchObject({ reason: 'invalid_request' });
    await expect(money.metering.closeSettlement({ callId: id, reason: 'no' })).rejects.toMatchObject({ reason: 'not_found' });
    const closed = await money.metering.closeSettlement({ callId: open, reason: 'released by mistake' });
    // The first response may be lost.
    expect(await money.metering.closeSettlement({ callId: open, reason: 'released by mistake' })).toEqual(closed);
    await expect(money.metering.closeSettlement({ callId: open, reason: 'another' })).rejects.toMatchObject({ reason: 'not_found' });
    expect(await listed()).toEqual([]);
    expect(await listed(UnsettledState.UNSETTLED_STATE_CLOSED)).toMatchObject([
      { callId: open, chargeNanoUsd: charge, closeReason: 'released by mistake', closedAtMs: BigInt(money.clock.nowMs()) },
    ]);
    expect((await money.reconcile()).drifts).toEqual([]);
    await expect(money.metering.retrySettlement({ callId: open })).rejects.toMatchObject({ reason: 'not_found' });
  });

  it('does not settle a free call with what was captured when its hold was released', async () => {
    const open = await money.hold(customer);
    const names = { holdId: open, accountId: customer.accountId };
    await money.ledger.checkpoint({ items: [{ ...names, costSoFarNanoUsd: 7n, ttlMs: 60_000 }] });
    await money.ledger.release(names);
    const free = report({ call: call({ ...customer, id: open, heldNanoUsd, price: money.catalog[0]! }), free: true });
    await money.metering.recordUsage(free);
    await until(async () => (await money.metering.getOutbox({})).failed === 1n);
    expect((await find(money.metering, open))?.settlement).toBeUndefined();
    await money.ledger.refund({ ...names, idempotencyKey: 'back', amountNanoUsd: undefined, reason: 'free' });
    await money.metering.closeSettlement({ callId: open, reason: 'refunded' });
    expect((await money.reconcile()).drifts).toEqual([]);
  });

  it('settles what was refused once its cause is gone', async () => {
    const open = await money.hold(customer);
    await money.ledgerDb
      .knex('hold')
      .where({ id: bytes(open) })
      .update({ state: HoldState.HOLD_STATE_RELEASED });
    await money.metering.recordUsage(report({ call: call({ ...customer, id: open, heldNanoUsd, price: money.catalog[0]! }) }));
    await until(async () => (await money.metering.getOutbox({})).failed === 1n);
    await money.ledgerDb
      .knex('hold')
      .where({ id: bytes(open) })
      .update({ state: HoldState.HOLD_STATE_OPEN });
    const retry = () => money.metering.retrySettlement({ callId: open });
    expect(await retry()).toEqual({ retried: 1n });
    // The first response may be lost.
    expect(await retry()).toEqual({ retried: 0n });
    await until(async () => (await find(money.metering, open))?.settlement !== undefined);
    expect(await retry()).toEqual({ retried: 0n });
    await expect(money.metering.retrySettlement({ callId: newId('req') })).rejects.toMatchObject({ reason: 'not_found' });
    expect((await money.reconcile()).drifts).toEqual([]);
  });

  it('rejects an unknown page token', async () => {
    for (const pageToken of ['x', Buffer.from('holds').toString('base64url'), Buffer.from('records 5 acct_1').toString('base64url')]) {
      await expect(money.metering.reconcile({ accountId: '', fromMs: 0n, untilMs: 0n, pageToken })).rejects.toMatchObject({
        reason: 'invalid_request',
      });
    }
  });
});
