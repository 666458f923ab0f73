// Old entries are moved into files and out of the database, and the books are correct before, during and after.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { callContext } from '#client/call-context.js';
import { dayMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { TurnCounter } from '#kit/testing/turns.js';
import { Budget, BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import { HoldState, ListEntriesRequest } from '#proto/ledger/v1/ledger.js';
import { Archiver } from './archiver.js';
import { ArchiveStore } from '../store/archive.js';
import { Audit } from '../store/audit.js';
import { Reads } from '../store/reads.js';
import { accountColumns } from '../store/rows.js';
import { quietConfig, startTestLedger, type TestLedger } from '../testing/ledger.js';
import { type Customer, depositRequest, fundedCustomer, holdRequest, refusalOf, settleRequest } from '../testing/requests.js';

describe.each(testEngines)('archiving on %s', (engine) => {
  let ledger: TestLedger;
  let folder: string;
  let archiver: Archiver;
  let customer: Customer;

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
    folder = mkdtempSync(join(tmpdir(), 'tollgate-archive-'));
    const { db, clock, log } = ledger;
    archiver = new Archiver({
      config: { ...quietConfig, retentionDays: 35 },
      reads: new Reads(db),
      audit: new Audit(db),
      store: new ArchiveStore(db),
      clock,
      log,
    });
    customer = await fundedCustomer(ledger.service, 1_000n);
  }, 60_000);

  afterEach(async () => {
    rmSync(folder, { recursive: true });
    await ledger.stop();
  });

  const settle = async (owner: Customer, cost: bigint): Promise<string> => {
    const { hold } = await ledger.service.hold(holdRequest(owner, 100n, { holdId: newId('req', ledger.clock.nowMs()) }));
    await ledger.service.settle(settleRequest(owner, hold!.id, cost));
    return hold!.id;
  };
  const lines = () =>
    readdirSync(folder).flatMap((name) =>
      gunzipSync(readFileSync(join(folder, name)))
        .toString()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, string>),
    );
  const drifts = async () => (await ledger.service.verify({ accountId: '' })).drifts;
  const balance = async () => (await ledger.service.getBalance({ accountId: customer.accountId })).balance;
  const entries = async () =>
    (await ledger.service.listEntries(ListEntriesRequest.fromPartial({ accountId: customer.accountId, pageSize: 0, pageToken: '' })))
      .entries;

  it('moves what is old enough, keeps entries with an idempotency key, and the books continue from there', async () => {
    const old = [await settle(customer, 30n), await settle(customer, 0n), await settle(customer, 50n)];
    const deposit = depositRequest(customer, 500n);
    await ledger.service.deposit(deposit);
    ledger.clock.advance(36 * dayMs);
    const young = await settle(customer, 70n);
    const before = await balance();
    expect(await archiver.archive(folder)).toBe(4);
    expect(lines().map(({ seq, kind, amount_nano_usd }) => [seq, kind, amount_nano_usd])).toEqual([
      ['1', 'deposit', '1000'],
      ['2', 'charge', '30'],
      ['3', 'charge', '50'],
      ['4', 'deposit', '500'],
    ]);

    expect(await balance()).toEqual(before);
    expect((await entries()).map(({ seq }) => seq)).toEqual([5n, 4n, 1n]);
    for (const holdId of old)
      expect(await refusalOf(ledger.service.getHold({ holdId, accountId: customer.accountId }))).toMatchObject({ reason: 'not_found' });
    expect((await ledger.service.getHold({ holdId: young, accountId: customer.accountId })).hold).toMatchObject({ capturedNanoUsd: 70n });
    expect(await drifts()).toEqual([]);
    expect((await ledger.service.deposit(deposit)).replayed).toBe(true);

    await settle(customer, 20n);
    ledger.clock.advance(36 * dayMs);
    expect(await archiver.archive(folder)).toBe(2);
    expect(await archiver.archive(folder)).toBe(0);
    expect(new Set(lines().map(({ id }) => id)).size).toBe(6);
    expect(await drifts()).toEqual([]);
    await settle(customer, 10n);
    expect(await balance()).toMatchObject({ spentNanoUsd: 180n, heldNanoUsd: 0n });
    expect(await drifts()).toEqual([]);
  });

  it('leaves no row of an entry that it removes', async () => {
    // A shortfall, and a correction of what expiry captured in excess.
    await settle(customer, 1_100n);
    await ledger.service.deposit(depositRequest(customer, 100n));
    const { hold } = await ledger.service.hold(holdRequest(customer, 100n));
    const { accountId } = customer;
    await ledger.service.checkpoint({ items: [{ holdId: hold!.id, accountId, costSoFarNanoUsd: 90n, ttlMs: 1_000 }] });
    ledger.clock.advance(3_600_000);
    await ledger.service.expireHolds({ limit: 0 });
    await ledger.service.settle(settleRequest(customer, hold!.id, 20n));
    const notes = async () => (await ledger.db.knex('journal_note').orderBy('seq').select('seq')).map(({ seq }) => Number(seq));
    expect(await notes()).toEqual([1, 3, 4, 6]);
    ledger.clock.advance(36 * dayMs);
    expect(await archiver.archive(folder)).toBe(6);
    expect((await entries()).map(({ seq }) => Number(seq))).toEqual([4, 1]);
    expect(await notes()).toEqual([1, 4]);
    expect(await drifts()).toEqual([]);
  });

  it('still finds errors after an archived beginning', async () => {
    await settle(customer, 30n);
    ledger.clock.advance(36 * dayMs);
    await archiver.archive(folder);
    await settle(customer, 40n);
    await ledger.db
      .knex('bucket')
      .where({ ...accountColumns(customer.accountId, engine) })
      .update({ spent_nano_usd: 69n });
    expect(await drifts()).toContainEqual({ accountId: customer.accountId, subject: 'spent', storedNanoUsd: 69n, rebuiltNanoUsd: 70n });
  });

  it('keeps a call that is refunded later, across the boundary between archived and kept entries', async () => {
    const holdId = await settle(customer, 30n);
    ledger.clock.advance(20 * dayMs);
    await ledger.service.refund({ idempotencyKey: 'back', accountId: customer.accountId, holdId, amountNanoUsd: 10n, reason: 'why' });
    ledger.clock.advance(20 * dayMs);
    expect(await archiver.archive(folder)).toBe(2);
    expect((await ledger.service.getHold({ holdId, accountId: customer.accountId })).hold).toMatchObject({ refundedNanoUsd: 10n });
    expect(await drifts()).toEqual([]);
    ledger.clock.advance(20 * dayMs);
    expect(await archiver.archive(folder)).toBe(1);
    expect(await refusalOf(ledger.service.getHold({ holdId, accountId: customer.accountId }))).toMatchObject({ reason: 'not_found' });
    expect(await drifts()).toEqual([]);
  });

  it('still replays a refund of a charge that is archived', async () => {
    const holdId = await settle(customer, 30n);
    const { accountId } = customer;
    const [charge] = await entries();
    ledger.clock.advance(20 * dayMs);
    const request = { idempotencyKey: 'back', accountId, holdId, amountNanoUsd: 10n, reason: 'why', chargeEntryId: charge!.id };
    const { entry } = await ledger.service.refund(request);
    ledger.clock.advance(20 * dayMs);
    await archiver.archive(folder);
    expect(await ledger.service.refund(request)).toMatchObject({ replayed: true, entry });
    const other = { ...request, amountNanoUsd: 5n };
    expect(await refusalOf(ledger.service.refund(other))).toMatchObject({ reason: 'idempotency_mismatch' });
    expect(await refusalOf(ledger.service.refund({ ...other, idempotencyKey: 'more' }))).toMatchObject({ reason: 'not_found' });
  });

  it('still replays the reversal of an entry that is archived', async () => {
    await settle(customer, 30n);
    const { accountId } = customer;
    const [charge] = await entries();
    ledger.clock.advance(20 * dayMs);
    const reversal = { accountId, reason: 'why' };
    const ofCharge = { ...reversal, idempotencyKey: 'back', entryId: charge!.id };
    const refund = await ledger.service.reverse(ofCharge);
    const ofRefund = { ...reversal, idempotencyKey: 'again', entryId: refund.entry!.id };
    const charged = await ledger.service.reverse(ofRefund);
    ledger.clock.advance(20 * dayMs);
    await archiver.archive(folder);
    expect(await ledger.service.reverse(ofCharge)).toEqual({ ...refund, replayed: true });
    expect(await ledger.service.reverse(ofRefund)).toEqual({ ...charged, replayed: true });
    expect(await refusalOf(ledger.service.reverse({ ...ofCharge, reason: 'another' }))).toMatchObject({ reason: 'idempotency_mismatch' });
    expect(await refusalOf(ledger.service.reverse({ ...ofCharge, idempotencyKey: 'more' }))).toMatchObject({ reason: 'not_found' });
  });

  it('keeps a part if one of its calls is refunded while its file is written', async () => {
    const holdId = await settle(customer, 30n);
    ledger.clock.advance(36 * dayMs);
    const store = new ArchiveStore(ledger.db);
    const remove = store.remove.bind(store);
    let refund: Promise<unknown> | undefined;
    store.remove = async (part) => {
      refund ??= ledger.service.refund({
        idempotencyKey: 'back',
        accountId: customer.accountId,
        holdId,
        amountNanoUsd: 10n,
        reason: 'why',
      });
      await refund;
      return remove(part);
    };
    const { db, clock, log } = ledger;
    const interrupted = new Archiver({
      config: { ...quietConfig, retentionDays: 35 },
      reads: new Reads(db),
      audit: new Audit(db),
      store,
      clock,
      log,
    });
    expect(await interrupted.archive(folder)).toBe(0);
    expect(await drifts()).toEqual([]);
    expect(await archiver.archive(folder)).toBe(2);
    expect(await drifts()).toEqual([]);
  });

  it('moves a long journal in parts, and lets other work of the process run after each', async () => {
    await ledger.service.deposit(depositRequest(customer, 1_000_000n));
    await Promise.all(Array.from({ length: 1_500 }, () => settle(customer, 0n)));
    const { hold } = await ledger.service.hold(holdRequest(customer, 100n));
    await ledger.service.settle(settleRequest(customer, hold!.id, 5n));
    const rows = Array.from({ length: 1_200 }, (_, index) => ({ ...depositRequest(customer, 1n), idempotencyKey: `d${index}` }));
    await Promise.all(rows.map((row) => ledger.service.deposit(row)));
    ledger.clock.advance(36 * dayMs);
    const { db, clock, log } = ledger;
    const reads = new Reads(db);
    const store = new ArchiveStore(db);
    const counter = new TurnCounter();
    const turns: number[] = [];
    const counted = <A extends unknown[], R>(act: (...args: A) => R) => {
      return (...args: A): R => {
        turns.push(counter.turns);
        return act(...args);
      };
    };
    reads.entriesBetween = counted(reads.entriesBetween.bind(reads));
    store.remove = counted(store.remove.bind(store));
    store.removeHoldsWithoutEntries = counted(store.removeHoldsWithoutEntries.bind(store));
    const watched = new Archiver({ config: { ...quietConfig, retentionDays: 35 }, reads, audit: new Audit(db), store, clock, log });
    expect(await watched.archive(folder)).toBe(1_203);
    counter.stop();
    // Parts of 200 entries are read and removed, and then 1500 holds are removed 200 at a time.
    expect(turns.length).toBeGreaterThanOrEqual(7 + 7 + 8);
    expect(new Set(turns).size).toBe(turns.length);
    expect(lines()).toHaveLength(1_203);
    expect(await archiver.archive(folder)).toBe(0);
    expect(await drifts()).toEqual([]);
    expect(Number((await ledger.db.knex('hold').count({ rows: '*' }))[0]!['rows'])).toBe(0);
  }, 60_000);

  it('does not charge a call again that was settled and archived', async () => {
    const holdId = await settle(customer, 30n);
    ledger.clock.advance(36 * dayMs);
    await archiver.archive(folder);
    const before = await balance();
    const repeated = ledger.service.settle(
      { ...settleRequest(customer, holdId, 30n), keyId: customer.keyId },
      callContext({ caller: 'metering' }),
    );
    expect(await refusalOf(repeated)).toMatchObject({ reason: 'hold_closed' });
    expect(await balance()).toEqual(before);
  });

  it('does not charge a call again that a later run archived, not even after the time of day was set back', async () => {
    await settle(customer, 10n);
    ledger.clock.advance(36 * dayMs);
    await archiver.archive(folder);
    const holdId = await settle(customer, 30n);
    ledger.clock.advance(36 * dayMs);
    expect(await archiver.archive(folder)).toBe(1);
    ledger.clock.step(-20 * dayMs);
    expect(await archiver.archive(folder)).toBe(0);
    const before = await balance();
    const request = { ...settleRequest(customer, holdId, 30n), keyId: customer.keyId };
    const repeated = ledger.service.settle(request, callContext({ caller: 'metering' }));
    expect(await refusalOf(repeated)).toMatchObject({ reason: 'hold_closed' });
    expect(await balance()).toEqual(before);
  });

  it('keeps calls that ended recently, whether they were charged or free', async () => {
    const { accountId } = customer;
    const old = await settle(customer, 0n);
    ledger.clock.advance(36 * dayMs);
    const young = [await settle(customer, 0n), await settle(customer, 70n)];
    await archiver.archive(folder);
    expect(await refusalOf(ledger.service.getHold({ holdId: old, accountId }))).toMatchObject({ reason: 'not_found' });
    for (const holdId of young)
      expect((await ledger.service.getHold({ holdId, accountId })).hold).toMatchObject({ state: HoldState.HOLD_STATE_SETTLED });
  });

  it('keeps the spend of budgets, once, if another replica archives the same entries while their file is written', async () => {
    const limit = { period: BudgetPeriod.BUDGET_PERIOD_LIFETIME, limitNanoUsd: 1_000n, version: 1n };
    const account = Budget.fromPartial({
      ...limit,
      id: newId('bud'),
      scope: BudgetScope.BUDGET_SCOPE_ACCOUNT,
      scopeId: customer.accountId,
    });
    const project = Budget.fromPartial({ ...account, id: newId('bud'), scope: BudgetScope.BUDGET_SCOPE_PROJECT, scopeId: newId('proj') });
    const spend = async (owner: Customer, cost: bigint, budgets: Budget[]): Promise<void> => {
      const { hold } = await ledger.service.hold(holdRequest(owner, 100n, { budgets }));
      await ledger.service.settle(settleRequest(owner, hold!.id, cost));
    };
    const spent = async () => {
      const { budgets } = await ledger.service.listBudgetSpend({
        accountId: customer.accountId,
        budgets: [account, project],
        timeZone: '',
      });
      return budgets.map(({ spentNanoUsd }) => spentNanoUsd);
    };
    await spend(customer, 30n, [account]);
    await spend(customer, 40n, [account, project]);
    const stranger = await fundedCustomer(ledger.service, 1_000n);
    await spend(stranger, 50n, [{ ...account, scopeId: stranger.accountId }]);
    ledger.clock.advance(36 * dayMs);
    const { db, clock, log } = ledger;
    const store = new ArchiveStore(db);
    const remove = store.remove.bind(store);
    let other: Promise<number> | undefined;
    store.remove = async (part) => {
      await (other ??= archiver.archive(folder));
      return remove(part);
    };
    const config = { ...quietConfig, retentionDays: 35 };
    const second = new Archiver({ config, reads: new Reads(db), audit: new Audit(db), store, clock, log });
    expect(await second.archive(folder)).toBe(0);
    expect(await other).toBe(5);
    expect([await spent(), await drifts()]).toEqual([[70n, 40n], []]);
    await spend(customer, 5n, [account, project]);
    expect([await spent(), await drifts()]).toEqual([[75n, 45n], []]);
  });

  it('does not archive an account that is inconsistent', async () => {
    const other = await fundedCustomer(ledger.service, 1_000n);
    await settle(customer, 30n);
    await settle(other, 30n);
    await ledger.db
      .knex('journal')
      .where({ ...accountColumns(customer.accountId, engine), seq: 2 })
      .update({ amount_nano_usd: 31 });
    ledger.clock.advance(36 * dayMs);
    expect(await archiver.archive(folder)).toBe(2);
    expect(new Set(lines().map(({ account_id }) => account_id))).toEqual(new Set([other.accountId]));
    expect(await entries()).toHaveLength(2);
    expect(ledger.logLines.some((line) => line.includes('is not archived') && line.includes(customer.accountId))).toBe(true);
  });

  it('removes nothing that could not be written', async () => {
    await settle(customer, 30n);
    ledger.clock.advance(36 * dayMs);
    const blocked = join(folder, 'file');
    writeFileSync(blocked, '');
    await expect(archiver.archive(blocked)).rejects.toThrow();
    expect(await entries()).toHaveLength(2);
  });

  it.each(['entriesBetween', 'holdsByName'] as const)(
    'finds no fault in books that another replica archives before it reads %s',
    async (read) => {
      await settle(customer, 30n);
      await ledger.service.deposit(depositRequest(customer, 500n));
      ledger.clock.advance(36 * dayMs);
      const young = await settle(customer, 20n);
      const { db, clock, log } = ledger;
      const reads = new Reads(db);
      const later = reads[read].bind(reads) as (...args: unknown[]) => Promise<never>;
      let other: Promise<unknown> | undefined;
      reads[read] = async (...args: unknown[]) => {
        other ??= archiver.archive(folder);
        await other;
        return later(...args);
      };
      const config = { ...quietConfig, retentionDays: 35 };
      const second = new Archiver({ config, reads, audit: new Audit(db), store: new ArchiveStore(db), clock, log });
      expect(await second.archive(folder)).toBe(0);
      expect(await other).toBe(3);
      expect(ledger.logLines.filter((line) => line.includes('the books disagree'))).toEqual([]);
      expect((await ledger.service.getHold({ holdId: young, accountId: customer.accountId })).hold).toMatchObject({ capturedNanoUsd: 20n });
      expect(await drifts()).toEqual([]);
    },
  );

  it('archives an account once when two archivers run at the same time', async () => {
    for (let count = 0; count < 5; count += 1) await settle(customer, 30n);
    ledger.clock.advance(36 * dayMs);
    const { db, clock, log } = ledger;
    const second = new Archiver({
      config: { ...quietConfig, retentionDays: 35 },
      reads: new Reads(db),
      audit: new Audit(db),
      store: new ArchiveStore(db),
      clock,
      log,
    });
    await Promise.all([archiver.archive(folder), second.archive(folder)]);
    expect(new Set(lines().map(({ id }) => id)).size).toBe(6);
    expect(await entries()).toHaveLength(1);
    expect(await drifts()).toEqual([]);
  });
});
