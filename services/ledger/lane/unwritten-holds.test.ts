// Holds that are granted before they are written count like all others, and are written with the next transaction.
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hasReason } from '#client/errors/app-error.js';
import { Budget, BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import { type Hold, type HoldRequest, HoldState } from '#proto/ledger/v1/ledger.js';
import { newId } from '#kit/id.js';
import { quietConfig, startTestLedger, type TestLedger } from '../testing/ledger.js';
import { type Customer, fundedCustomer, holdRequest, refusalOf, settleRequest } from '../testing/requests.js';

describe('holds that are written with the records of their calls', () => {
  let ledger: TestLedger;
  let customer: Customer;

  beforeEach(async () => {
    ledger = await startTestLedger('sqlite', quietConfig, { sharesRecords: true });
    customer = await fundedCustomer(ledger.service, 100n);
    // Its transaction reads the rows of the account and the key.
    const first = await hold(10n, { durableWithRecord: false });
    await ledger.service.release({ holdId: first.id, accountId: customer.accountId });
  });

  afterEach(() => ledger.stop());

  const request = (amountNanoUsd: bigint, fields: Partial<HoldRequest> = {}) =>
    ledger.service.hold(holdRequest(customer, amountNanoUsd, { durableWithRecord: true, ...fields }));
  const hold = async (amountNanoUsd: bigint, fields: Partial<HoldRequest> = {}): Promise<Hold> =>
    (await request(amountNanoUsd, fields)).hold!;
  /** Returns the states of the holds of some amount that the database has. */
  const written = async (amountNanoUsd: bigint): Promise<number[]> =>
    (await ledger.db.query('SELECT state FROM hold WHERE amount_nano_usd = ?', [amountNanoUsd])).map((row) => Number(row['state']));
  const held = async (): Promise<bigint> => (await ledger.service.getBalance({ accountId: customer.accountId })).balance!.heldNanoUsd;
  const drifts = async () => (await ledger.service.verify({ accountId: '' })).drifts;

  it('are in the database when they are settled, and not before', async () => {
    const { hold: granted, unwritten } = await request(60n);
    expect([unwritten, granted?.state, await written(60n)]).toEqual([true, HoldState.HOLD_STATE_OPEN, []]);
    await ledger.db.plainTransaction((tx) => ledger.settleInTransaction(tx, [settleRequest(customer, granted!.id, 35n)]));
    expect(await written(60n)).toEqual([HoldState.HOLD_STATE_SETTLED]);
    const { balance } = await ledger.service.getBalance({ accountId: customer.accountId });
    expect(balance).toMatchObject({ spentNanoUsd: 35n, heldNanoUsd: 0n });
    expect(await drifts()).toEqual([]);
  });

  it('are written by any transaction, also one of another account', async () => {
    await hold(60n);
    await fundedCustomer(ledger.service, 1n);
    expect(await written(60n)).toEqual([HoldState.HOLD_STATE_OPEN]);
  });

  it('are written after a second', async () => {
    await hold(60n);
    await pause(1_200);
    expect(await written(60n)).toEqual([HoldState.HOLD_STATE_OPEN]);
  });

  it('are written before holds and balances are read', async () => {
    await hold(60n);
    expect(await held()).toBe(60n);
    expect(await drifts()).toEqual([]);
  });

  it('count against the balance, the limit of the key and its budgets', async () => {
    const limited = (limitNanoUsd: bigint, version: bigint) => ({ keyLimit: { limitNanoUsd, version } });
    await hold(60n);
    expect((await refusalOf(request(41n))).reason).toBe('balance_held');
    expect((await request(5n)).unwritten).toBe(true);
    expect((await refusalOf(request(20n, limited(70n, 2n)))).reason).toBe('key_limit_reached');
    const budgets = [
      Budget.fromPartial({
        id: newId('bud'),
        scope: BudgetScope.BUDGET_SCOPE_KEY,
        scopeId: customer.keyId,
        period: BudgetPeriod.BUDGET_PERIOD_LIFETIME,
        limitNanoUsd: 12n,
        version: 1n,
      }),
    ];
    const rest = { ...limited(90n, 3n), budgets };
    expect((await request(4n, rest)).unwritten).toBeUndefined();
    expect((await request(5n, rest)).unwritten).toBe(true);
    expect((await refusalOf(request(4n, rest))).reason).toBe('budget_reached');
    expect(await held()).toBe(74n);
    expect(await drifts()).toEqual([]);
  });

  it('are granted from rows of recent periods only', async () => {
    const budgetOf = (id: string) =>
      Budget.fromPartial({
        id,
        scope: BudgetScope.BUDGET_SCOPE_KEY,
        scopeId: customer.keyId,
        period: BudgetPeriod.BUDGET_PERIOD_DAY,
        limitNanoUsd: 100n,
        version: 1n,
      });
    const [old, recent] = [budgetOf(newId('bud')), budgetOf(newId('bud'))];
    const isUnwritten = async (budget: Budget): Promise<boolean> =>
      (await request(0n, { budgets: [budget], minAmountNanoUsd: 0n })).unwritten === true;
    expect([await isUnwritten(old), await isUnwritten(old)]).toEqual([false, true]);
    for (let budgets = 0; budgets < 1000; budgets += 6)
      await hold(0n, { budgets: Array.from({ length: 6 }, () => budgetOf(newId('bud'))), minAmountNanoUsd: 0n, durableWithRecord: false });
    expect([await isUnwritten(recent), await isUnwritten(recent), await isUnwritten(old)]).toEqual([false, true, false]);
    expect(await drifts()).toEqual([]);
  });

  it('are written when they are requested again without the field, or released', async () => {
    const request = holdRequest(customer, 60n, { durableWithRecord: true });
    expect((await ledger.service.hold(request)).replayed).toBe(false);
    expect(await ledger.service.hold({ ...request, durableWithRecord: false })).toMatchObject({ replayed: true });
    expect(await written(60n)).toEqual([HoldState.HOLD_STATE_OPEN]);
    const other = await hold(30n);
    await ledger.service.release({ holdId: other.id, accountId: customer.accountId });
    expect([await written(30n), await held()]).toEqual([[HoldState.HOLD_STATE_RELEASED], 60n]);
  });

  it('are granted once if they are repeated while they wait', async () => {
    const request = holdRequest(customer, 60n, { minAmountNanoUsd: 1n, durableWithRecord: true });
    const { hold: first } = await ledger.service.hold(request);
    expect(await ledger.service.hold(request)).toMatchObject({ hold: first, replayed: true });
    expect(await held()).toBe(60n);
  });

  it.each(['a lane', 'a read', 'another service'])(
    'are held once if their ids are stored already, whatever writes them: %s',
    async (writer) => {
      const open = holdRequest(customer, 20n);
      const settled = holdRequest(customer, 21n);
      const released = holdRequest(customer, 22n);
      const unknown = holdRequest(customer, 23n);
      for (const request of [open, settled, released]) await ledger.service.hold(request);
      await ledger.service.settle(settleRequest(customer, settled.holdId, 21n));
      for (const { holdId } of [released, unknown]) await ledger.service.release({ holdId, accountId: customer.accountId });
      for (const request of [open, settled, released, unknown]) {
        expect(await ledger.service.hold({ ...request, durableWithRecord: true })).toMatchObject({ unwritten: true });
        const other = newId('req');
        if (writer === 'a lane') await ledger.service.release({ holdId: other, accountId: customer.accountId });
        if (writer === 'another service') {
          const settle = () => ledger.db.plainTransaction((tx) => ledger.settleInTransaction(tx, [settleRequest(customer, other, 0n)]));
          // After a failure, metering stores the record alone and settles later.
          await settle().catch(() => undefined);
          await settle();
        }
        expect(await held()).toBe(20n);
      }
      expect(await drifts()).toEqual([]);
      // A hold that was granted early ends as a repeated hold does.
      const { hold: replayed } = await ledger.service.settle(settleRequest(customer, open.holdId, 20n));
      expect(replayed).toMatchObject({ amountNanoUsd: 20n, capturedNanoUsd: 20n, shortfallNanoUsd: 0n });
      expect(await held()).toBe(0n);
      expect((await request(5n)).hold).toMatchObject({ amountNanoUsd: 5n });
    },
  );

  it('are not granted from rows that a transaction is changing', async () => {
    const { id } = await hold(10n);
    const requested = await ledger.db.plainTransaction(async (tx) => {
      await ledger.settleInTransaction(tx, [settleRequest(customer, id, 95n)]);
      return { outcome: refusalOf(request(50n)) };
    });
    expect((await requested.outcome).reason).toBe('balance_empty');
    expect((await request(5n)).unwritten).toBe(true);
  });

  it('survive a transaction that fails, after which nothing is granted before one has succeeded', async () => {
    const { id } = await hold(60n);
    await ledger.db.knex.schema.renameTable('hold', 'hold_away');
    await expect(ledger.service.settle(settleRequest(customer, id, 35n))).rejects.toThrow();
    await expect(request(1n)).rejects.toThrow();
    await ledger.db.knex.schema.renameTable('hold_away', 'hold');
    expect((await request(1n)).unwritten).toBeUndefined();
    expect((await request(2n)).unwritten).toBe(true);
    expect(await held()).toBe(63n);
    expect(await drifts()).toEqual([]);
  });

  it('are not granted after the disk failed, while the database is not used', async () => {
    let isFailing = false;
    const broken = await startTestLedger('sqlite', quietConfig, {
      sharesRecords: true,
      database: { syncFile: async () => (isFailing ? Promise.reject(new Error('The disk failed.')) : undefined) },
    });
    try {
      const owner = await fundedCustomer(broken.service, 100n);
      const request = () => holdRequest(owner, 10n, { durableWithRecord: true });
      await broken.service.hold(request());
      expect((await broken.service.hold(request())).unwritten).toBe(true);
      isFailing = true;
      await expect(broken.service.getBalance({ accountId: owner.accountId })).rejects.toThrow('could not be synced');
      await expect(broken.service.hold(request())).rejects.toThrow('could not be synced');
    } finally {
      await broken.stop().catch(() => undefined);
    }
  });

  it('agree with the books, however they are mixed with other operations and failures', async () => {
    const customers = await Promise.all([500n, 900n, 1_300n].map((amount) => fundedCustomer(ledger.service, amount)));
    const granted: Hold[] = [];
    let early = 0;
    const enough = 40;
    const callsMin = 25;
    const settled = new Set<string>();
    const isFault = (error: unknown): boolean => String(error).includes('no such table');
    const unless = (error: unknown): void => {
      if (!hasReason(error, 'balance_held', 'balance_empty', 'key_limit_reached', 'hold_closed') && !isFault(error)) throw error;
    };
    /** Retries work that a fault has prevented: holds that are never settled would soon leave nothing for others. */
    const untilDone = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      for (;;) {
        try {
          return await work();
        } catch (error) {
          unless(error);
          if (!isFault(error)) return undefined;
          await pause(1);
        }
      }
    };
    const caller = async (index: number): Promise<void> => {
      const one = customers[index % customers.length]!;
      // How many are granted early depends on how busy the machine is. A few callers go on until there are enough, for free.
      for (let call = 0; call < callsMin || (index < customers.length && early < enough); call += 1) {
        if (call % 3 === index % 3) await pause(Math.random() * 4);
        const request = holdRequest(one, BigInt(10 + ((index + call) % 60)), {
          durableWithRecord: Math.random() < 0.8,
          keyLimit: { limitNanoUsd: 400n, version: 1n },
        });
        const response = await ledger.service.hold(request).catch(unless);
        if (response === undefined) continue;
        granted.push(response.hold!);
        if (response.unwritten === true) early += 1;
        if (Math.random() < 0.7) await pause(0);
        if (Math.random() < 0.2) await ledger.service.release({ holdId: request.holdId, accountId: one.accountId }).catch(unless);
        const settle = settleRequest(one, request.holdId, call < callsMin ? BigInt(Math.trunc(Math.random() * 3)) : 0n);
        const inTransaction = async () => {
          const { captured } = await ledger.db.plainTransaction((tx) => ledger.settleInTransaction(tx, [settle]));
          return captured[0];
        };
        const done = await untilDone<unknown>(() => (Math.random() < 0.5 ? inTransaction() : ledger.service.settle(settle)));
        if (done !== undefined) settled.add(request.holdId);
      }
    };
    const saboteur = async (): Promise<void> => {
      for (let fault = 0; fault < 8; fault += 1) {
        await pause(15);
        await ledger.db.knex.schema.renameTable('journal', 'journal_away');
        await pause(3);
        await ledger.db.knex.schema.renameTable('journal_away', 'journal');
      }
    };
    await Promise.all([saboteur(), ...Array.from({ length: 24 }, (_, index) => caller(index))]);
    expect(early).toBeGreaterThanOrEqual(enough);
    expect(await drifts()).toEqual([]);
    for (const { id, accountId, amountNanoUsd } of granted) {
      const stored = (await ledger.service.getHold({ holdId: id, accountId })).hold!;
      expect(stored.amountNanoUsd).toBe(amountNanoUsd);
      if (settled.has(id)) expect([HoldState.HOLD_STATE_SETTLED, HoldState.HOLD_STATE_RELEASED]).toContain(stored.state);
    }
  }, 60_000);
});
