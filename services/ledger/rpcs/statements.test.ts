// For any history, an account's months chain from zero to its balance, and each equals the sum of its lines.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dayMs } from '#kit/clock.js';
import { testEngines } from '#kit/testing/database.js';
import { failureOf } from '#kit/testing/waiting.js';
import { type Entry, EntryKind, ListEntriesRequest, ListStatementsRequest, type Statement } from '#proto/ledger/v1/ledger.js';
import { Archiver } from '../archive/archiver.js';
import { effectOf } from '../books/journal.js';
import { monthOfText, monthText, startOfMonthMs } from '../statements/months.js';
import { ArchiveStore } from '../store/archive.js';
import { Audit } from '../store/audit.js';
import { Reads } from '../store/reads.js';
import { depositOperation } from '../requests/operations.js';
import { accountColumns, accountScope } from '../store/rows.js';
import { createStore } from '../store/store.js';
import { unaudited } from '../testing/lane-books.js';
import { quietConfig, startTestLedger, type TestLedger } from '../testing/ledger.js';
import {
  type Customer,
  depositRequest,
  fundedCustomer,
  holdRequest,
  newCustomer,
  refundRequest,
  settleRequest,
} from '../testing/requests.js';

// Hundreds of requests each, one after another.
jest.setTimeout(120_000);

const {
  ENTRY_KIND_DEPOSIT: deposit,
  ENTRY_KIND_PAYMENT_REFUND: paymentRefund,
  ENTRY_KIND_PAYMENT_REFUND_REVERSAL: paymentRefundReversal,
  ENTRY_KIND_ADJUSTMENT: adjustment,
  ENTRY_KIND_CHARGE: charge,
  ENTRY_KIND_CHARGE_CORRECTION: correction,
  ENTRY_KIND_REFUND: refund,
  ENTRY_KIND_REFUND_REVERSAL: reversal,
  ENTRY_KIND_SHORTFALL: shortfall,
} = EntryKind;

describe.each(testEngines)('statements on %s', (engine) => {
  let ledger: TestLedger;

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
  }, 60_000);

  afterEach(() => ledger.stop());

  async function statementsOf(accountId: string, pageSize = 0): Promise<Statement[]> {
    const all: Statement[] = [];
    for (let pageToken = ''; ;) {
      const page = await ledger.service.listStatements(ListStatementsRequest.fromPartial({ accountId, pageSize, pageToken }));
      all.push(...page.statements);
      pageToken = page.nextPageToken;
      if (pageToken === '') return all;
    }
  }

  async function linesOf(accountId: string, fields: Partial<ListEntriesRequest> = {}): Promise<Entry[]> {
    const all: Entry[] = [];
    for (let pageToken = ''; ;) {
      const page = await ledger.service.listEntries(ListEntriesRequest.fromPartial({ accountId, pageSize: 3, ...fields, pageToken }));
      all.push(...page.entries);
      pageToken = page.nextPageToken;
      if (pageToken === '') return all;
    }
  }

  const effects = (lines: readonly Entry[]): bigint =>
    lines.reduce((sum, line) => sum + effectOf(line).creditedNanoUsd - effectOf(line).spentNanoUsd, 0n);
  const amounts = (lines: readonly Entry[], kind: EntryKind): bigint =>
    lines.filter((line) => line.kind === kind).reduce((sum, line) => sum + line.amountNanoUsd, 0n);

  /** Checks that the months chain, and that each equals its lines. */
  async function check(accountId: string): Promise<Statement[]> {
    const months = (await statementsOf(accountId, 2)).toReversed();
    expect(await statementsOf(accountId)).toEqual(months.toReversed());
    const { balance } = await ledger.service.getBalance({ accountId });
    expect(months[0]?.openingNanoUsd ?? 0n).toBe(0n);
    expect(months.at(-1)?.closingNanoUsd ?? 0n).toBe(balance!.creditedNanoUsd - balance!.spentNanoUsd);
    let number = 1n;
    for (const [index, month] of months.entries()) {
      if (index > 0) {
        expect(month.openingNanoUsd).toBe(months[index - 1]!.closingNanoUsd);
        expect(monthOfText(month.month)).toBe(monthOfText(months[index - 1]!.month)! + 1);
      }
      expect(month.closingNanoUsd).toBe(
        month.openingNanoUsd + month.depositsNanoUsd + month.adjustmentsNanoUsd - month.chargesNanoUsd + month.refundsNanoUsd,
      );
      expect(await ledger.service.getStatement({ accountId, month: month.month })).toEqual({ statement: month });
      const lines = await linesOf(accountId, { month: month.month, oldestFirst: true });
      expect(await linesOf(accountId, { month: month.month })).toEqual(lines.toReversed());
      expect(BigInt(lines.length)).toBe(month.entries);
      expect(month.openingNanoUsd + effects(lines)).toBe(month.closingNanoUsd);
      expect({
        deposits: amounts(lines, deposit) - amounts(lines, paymentRefund) + amounts(lines, paymentRefundReversal),
        charges: amounts(lines, charge) - amounts(lines, correction),
        refunds: amounts(lines, refund) - amounts(lines, reversal),
      }).toEqual({
        deposits: month.depositsNanoUsd,
        charges: month.chargesNanoUsd,
        refunds: month.refundsNanoUsd,
      });
      expect(effects(lines.filter(({ kind }) => kind === adjustment))).toBe(month.adjustmentsNanoUsd);
      for (const line of lines) expect(line.seq).toBe(number++);
      for (const kinds of [[deposit], [refund, shortfall], [charge], [correction, adjustment], [paymentRefund]]) {
        const wanted = lines.filter(({ kind }) => kinds.includes(kind));
        expect(await linesOf(accountId, { month: month.month, kinds, oldestFirst: true })).toEqual(wanted);
      }
    }
    expect(number - 1n).toBe(balance!.seq);
    return months;
  }

  const settle = async (customer: Customer, amount: bigint, cost: bigint): Promise<string> => {
    const { hold } = await ledger.service.hold(holdRequest(customer, amount));
    await ledger.service.settle(settleRequest(customer, hold!.id, cost));
    return hold!.id;
  };

  it('chain over any history, and equal the journal', async () => {
    const step = fc.record({
      // Includes months in which nothing happens, and clocks that are behind.
      pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: -2_000, max: 3 * dayMs }), fc.integer({ min: 0, max: 70 * dayMs })),
      kind: fc.constantFrom('deposit', 'charge', 'shortfall', 'refund', 'reverse', 'adjust', 'return', 'fail', 'expire', 'late'),
      amount: fc.bigInt({ min: 1n, max: 300n }),
    });
    const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
      const customer = newCustomer();
      const ended: string[] = [];
      const refunds: string[] = [];
      const payments: string[] = [];
      const returned: string[] = [];
      for (const { pauseMs, kind, amount } of steps) {
        ledger.clock.advance(pauseMs);
        const free = (await ledger.service.getBalance({ accountId: customer.accountId })).balance!.availableNanoUsd;
        if (kind === 'deposit' || free === 0n) payments.push((await ledger.service.deposit(depositRequest(customer, amount))).entry!.id);
        else if (kind === 'return' && payments.length > 0) {
          const linkedEntryId = payments.pop()!;
          const fields = { idempotencyKey: `return ${linkedEntryId}`, accountId: customer.accountId, reason: 'a test', linkedEntryId };
          returned.push((await ledger.service.adjust({ ...fields, amountNanoUsd: -1n, paymentRefund: true })).entry!.id);
        } else if (kind === 'fail' && returned.length > 0) {
          const entryId = returned.pop()!;
          await ledger.service.reverse({ idempotencyKey: entryId, accountId: customer.accountId, entryId, reason: 'a test' });
        } else if (kind === 'charge') ended.push(await settle(customer, free < amount ? free : amount, 1n));
        else if (kind === 'shortfall') await settle(customer, free, free + amount);
        else if (kind === 'refund' && ended.length > 0)
          refunds.push((await ledger.service.refund(refundRequest(customer, ended.pop()!))).entry!.id);
        else if (kind === 'reverse' && refunds.length > 0) {
          const entryId = refunds.pop()!;
          await ledger.service.reverse({ idempotencyKey: entryId, accountId: customer.accountId, entryId, reason: 'a test' });
        } else if (kind === 'adjust') {
          const amountNanoUsd = amount % 2n === 0n ? amount : -1n;
          await ledger.service.adjust({
            idempotencyKey: `${steps.length} ${free} ${ledger.clock.nowMs()} ${amount}`,
            accountId: customer.accountId,
            amountNanoUsd,
            reason: 'a test',
            linkedEntryId: '',
          });
        } else {
          const { hold } = await ledger.service.hold(holdRequest(customer, free, { ttlMs: 1_000 }));
          await ledger.service.checkpoint({
            items: [{ holdId: hold!.id, accountId: customer.accountId, costSoFarNanoUsd: free, ttlMs: 1_000 }],
          });
          ledger.clock.advance(10_000);
          await ledger.service.expireHolds({ limit: 0 });
          // A late settlement corrects what the expiry captured too much.
          if (kind === 'late') await ledger.service.settle(settleRequest(customer, hold!.id, 0n));
        }
      }
      await check(customer.accountId);
      expect((await ledger.service.verify({ accountId: customer.accountId })).drifts).toEqual([]);
    });
    await fc.assert(property, { numRuns: Number(process.env['TOLLGATE_TEST_HISTORIES'] ?? 25) });
  }, 600_000);

  it('do not change a month once the next has begun, whatever another clock says', async () => {
    ledger.clock.advance(Date.UTC(2026, 10, 30, 23, 59, 59, 900) - ledger.clock.nowMs());
    const customer = await fundedCustomer(ledger.service, 100n);
    expect(await statementsOf(customer.accountId)).toMatchObject([{ month: '2026-11', isClosed: false }]);
    ledger.clock.advance(100);
    await settle(customer, 10n, 10n);
    ledger.clock.advance(-100);
    await settle(customer, 20n, 20n);
    const [december, november] = await check(customer.accountId).then((months) => months.toReversed());
    expect(november).toMatchObject({
      month: '2026-11',
      entries: 1n,
      closingNanoUsd: 100n,
      isClosed: true,
      fromMs: BigInt(Date.UTC(2026, 10)),
      untilMs: BigInt(Date.UTC(2026, 11)),
    });
    expect(december).toMatchObject({
      month: '2026-12',
      entries: 2n,
      openingNanoUsd: 100n,
      chargesNanoUsd: 30n,
      closingNanoUsd: 70n,
      isClosed: false,
    });
  });

  it('close a month only when no transaction that began in it can still commit', async () => {
    ledger.clock.advance(Date.UTC(2026, 10, 30, 23, 59, 59, 900) - ledger.clock.nowMs());
    const customer = await fundedCustomer(ledger.service, 100n);
    const beganAtMs = ledger.clock.nowMs();
    // A transaction may wait for a locked account in each of ten tries.
    ledger.clock.advance(50_000);
    const [before] = (await statementsOf(customer.accountId)).toReversed();
    const late = depositOperation(depositRequest(customer, 10n));
    await createStore(ledger.db, unaudited).execute([late], beganAtMs);
    const [after] = (await statementsOf(customer.accountId)).toReversed();
    expect([before!.month, before!.closingNanoUsd, after!.closingNanoUsd]).toEqual(['2026-11', 100n, 110n]);
    expect(before!.isClosed).toBe(false);
    ledger.clock.advance(11_000);
    expect((await statementsOf(customer.accountId)).at(-1)).toMatchObject({ month: '2026-11', isClosed: true });
  });

  it('stay exact when entries are archived, and report it', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-archive-'));
    try {
      for (let month = 0; month < 4; month += 1) {
        const holdId = await settle(customer, 50n, 40n + BigInt(month));
        await ledger.service.refund(refundRequest(customer, holdId, 5n));
        ledger.clock.advance(31 * dayMs);
      }
      const before = await check(customer.accountId);
      const { db, clock, log } = ledger;
      const config = { ...quietConfig, retentionDays: 35 };
      const archiver = new Archiver({
        config,
        reads: new Reads(db),
        audit: new Audit(db),
        store: new ArchiveStore(db),
        clock,
        log,
      });
      expect(await archiver.archive(folder)).toBeGreaterThan(3);
      const after = (await statementsOf(customer.accountId)).toReversed();
      expect(after.map((month) => ({ ...month, hasArchivedEntries: false }))).toEqual(before);
      expect(after.map(({ hasArchivedEntries }) => hasArchivedEntries).slice(0, 2)).toEqual([true, true]);
      expect(after.at(-1)!.hasArchivedEntries).toBe(false);
      // Entries with an idempotency key stay in the journal, and so in the statement.
      expect((await linesOf(customer.accountId, { month: after[0]!.month })).map(({ kind }) => kind)).toEqual([refund, deposit]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('are verified like the rest of the books', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    ledger.clock.advance(31 * dayMs);
    await settle(customer, 50n, 40n);
    const lead = accountColumns(customer.accountId, engine);
    const drifts = async () => (await ledger.service.verify({ accountId: customer.accountId })).drifts.map(({ subject: what }) => what);
    expect(await drifts()).toEqual([]);
    const broken: [string, object, Record<string, number>, RegExp][] = [
      ['bucket', { scope_id: accountScope }, { deposited_nano_usd: 1_001 }, /^deposited$/],
      ['bucket', { scope_id: accountScope }, { refunded_nano_usd: 1 }, /^refunded$/],
      ['journal_month', { first_seq: 2 }, { credited_nano_usd: 999 }, /^creditedNanoUsd at the beginning of /],
      ['journal_month', { first_seq: 2 }, { spent_nano_usd: 1 }, /^spentNanoUsd at the beginning of /],
    ];
    for (const [table, where, change, found] of broken) {
      const before = await ledger.db
        .knex(table)
        .where({ ...lead, ...where })
        .first();
      await ledger.db
        .knex(table)
        .where({ ...lead, ...where })
        .update(change);
      expect(await drifts()).toEqual([expect.stringMatching(found)]);
      await ledger.db
        .knex(table)
        .where({ ...lead, ...where })
        .update(Object.fromEntries(Object.keys(change).map((name) => [name, before[name]])));
    }
    expect(await drifts()).toEqual([]);
    await ledger.db
      .knex('journal_month')
      .where({ ...lead, first_seq: 2 })
      .delete();
    expect((await drifts()).length).toBeGreaterThan(0);
  });

  it('of an account without entries are an empty list, and a missing month is not found', async () => {
    const { accountId } = newCustomer();
    expect(await statementsOf(accountId)).toEqual([]);
    const customer = await fundedCustomer(ledger.service, 5n);
    const [only] = await statementsOf(customer.accountId);
    for (const by of [-1, 1]) {
      const month = monthText(monthOfText(only!.month)! + by);
      expect(await failureOf(ledger.service.getStatement({ accountId: customer.accountId, month }))).toMatchObject({
        reason: 'not_found',
        details: { what: 'statement' },
      });
      expect(
        (await failureOf(ledger.service.listEntries(ListEntriesRequest.fromPartial({ accountId: customer.accountId, month })))).reason,
      ).toBe('not_found');
    }
    for (const month of ['2026-13', '2026-1', 'november', '']) {
      expect((await failureOf(ledger.service.getStatement({ accountId: customer.accountId, month }))).reason).toBe('invalid_request');
    }
    expect(startOfMonthMs(monthOfText('2027-01')!)).toBe(Date.UTC(2027, 0));
  });

  it('have entries that can be fetched one by one', async () => {
    const customer = await fundedCustomer(ledger.service, 5n);
    const stranger = await fundedCustomer(ledger.service, 5n);
    const [entry] = await linesOf(customer.accountId);
    expect(await ledger.service.getEntry({ accountId: customer.accountId, entryId: entry!.id })).toEqual({
      entry,
      corrections: [],
      reversibleNanoUsd: 5n,
    });
    for (const entryId of ['', 'ent_1', `${entry!.id.slice(0, -1)}2`]) {
      expect((await failureOf(ledger.service.getEntry({ accountId: customer.accountId, entryId }))).reason).toBe('not_found');
    }
    expect((await failureOf(ledger.service.getEntry({ accountId: stranger.accountId, entryId: entry!.id }))).reason).toBe('not_found');
  });
});
