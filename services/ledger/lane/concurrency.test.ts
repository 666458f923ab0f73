// Many calls at once, on one process and on two over the same database: no caller gets more than there is.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { callContext } from '#client/call-context.js';
import { hasReason } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { testEngines, untilWaiting } from '#kit/testing/database.js';
import { HoldState, type LedgerService } from '#proto/ledger/v1/ledger.js';
import { accountColumns } from '../store/rows.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { type Customer, depositRequest, fundedCustomer, holdRequest, newCustomer, settleRequest } from '../testing/requests.js';

const callers = 200;
const affordable = 50;

describe.each(testEngines)('concurrent callers on %s', (engine) => {
  let ledger: TestLedger;
  let services: LedgerService[];

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
    // A SQLite file belongs to one process; a MySQL schema is served by any number.
    services = engine === 'mysql' ? [ledger.service, await ledger.startReplica()] : [ledger.service];
  });

  afterEach(() => ledger.stop());

  const at = (index: number): LedgerService => services[index % services.length]!;

  /** Sends as many holds of 10 at once; returns the reasons of the refusals, and the holds granted. */
  async function holdAtOnce(customer: Customer, limitNanoUsd?: bigint): Promise<{ granted: string[]; reasons: Record<string, number> }> {
    const granted: string[] = [];
    const reasons: Record<string, number> = {};
    await Promise.all(
      Array.from({ length: callers }, async (_, index) => {
        try {
          const { hold } = await at(index).hold(holdRequest(customer, 10n, { keyLimit: { limitNanoUsd, version: 1n } }));
          granted.push(hold!.id);
        } catch (error) {
          if (!hasReason(error, 'balance_held', 'balance_empty', 'key_limit_reached')) throw error;
          reasons[error.reason] = (reasons[error.reason] ?? 0) + 1;
        }
      }),
    );
    return { granted, reasons };
  }

  it('grants exactly the holds that the balance affords', async () => {
    const customer = await fundedCustomer(ledger.service, 509n);
    const { granted, reasons } = await holdAtOnce(customer);
    expect(granted).toHaveLength(affordable);
    expect(reasons).toEqual({ balance_held: callers - affordable });
    await Promise.all(granted.map((holdId, index) => at(index).settle(settleRequest(customer, holdId, 13n))));
    const { balance } = await ledger.service.getBalance({ accountId: customer.accountId });
    expect(balance).toMatchObject({ spentNanoUsd: 509n, heldNanoUsd: 0n, availableNanoUsd: 0n });
    expect(await ledger.service.verify({ accountId: '' })).toMatchObject({ sumNanoUsd: 0n, openHolds: 0n, drifts: [] });
  }, 60_000);

  // A SQLite file has one writer.
  if (engine === 'mysql')
    it('does not grant the same money to two processes at the same moment', async () => {
      const customer = await fundedCustomer(ledger.service, 100n);
      // Creates the row of the key, which both would otherwise insert.
      const earlier = holdRequest(customer, 1n);
      await ledger.service.hold(earlier);
      await ledger.service.release({ holdId: earlier.holdId, accountId: customer.accountId });
      const { slot, account_id } = accountColumns(customer.accountId, engine);
      const locker = await ledger.db.knex.transaction();
      await locker('bucket').where({ slot, account_id }).forUpdate();
      const results = Promise.allSettled(services.map((service) => service.hold(holdRequest(customer, 60n))));
      // Both have begun their transactions.
      await untilWaiting(ledger.db, 'bucket', services.length);
      await locker.rollback();
      expect((await results).map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      const { balance } = await ledger.service.getBalance({ accountId: customer.accountId });
      expect(balance).toMatchObject({ heldNanoUsd: 60n, availableNanoUsd: 40n });
    });

  it('grants exactly the holds that the limit of the key affords', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000_000n);
    const { granted, reasons } = await holdAtOnce(customer, 509n);
    expect(granted).toHaveLength(affordable);
    expect(reasons).toEqual({ key_limit_reached: callers - affordable });
    const { keys } = await ledger.service.listKeySpend({ accountId: customer.accountId, keyIds: [customer.keyId] });
    expect(keys).toMatchObject([{ heldNanoUsd: 500n, limitNanoUsd: 509n }]);
  }, 60_000);

  it('does each write once when it is sent many times at once', async () => {
    const customer = newCustomer();
    const times = Array.from({ length: 20 }, (_, index) => at(index));
    const payment = depositRequest(customer, 100n);
    const deposits = await Promise.all(times.map((service) => service.deposit(payment)));
    expect(deposits.filter((deposit) => !deposit.replayed)).toHaveLength(1);
    const request = holdRequest(customer, 60n);
    const holds = await Promise.all(times.map((service) => service.hold(request)));
    expect(holds.filter((hold) => !hold.replayed)).toHaveLength(1);
    const settlements = await Promise.all(times.map((service) => service.settle(settleRequest(customer, request.holdId, 60n))));
    expect(settlements.filter((settlement) => !settlement.replayed)).toHaveLength(1);
    const { balance } = await ledger.service.getBalance({ accountId: customer.accountId });
    expect(balance).toMatchObject({ creditedNanoUsd: 100n, spentNanoUsd: 60n, seq: 2n });
  }, 60_000);

  it('creates an account once when its first writes arrive together', async () => {
    const customer = newCustomer();
    await Promise.all([
      ...Array.from({ length: 10 }, (_, index) => at(index).deposit(depositRequest(customer, 10n))),
      ...Array.from({ length: 10 }, (_, index) =>
        at(index).settle(settleRequest(customer, newId('req'), 1n), callContext({ caller: 'metering' })),
      ),
      ...Array.from({ length: 10 }, (_, index) => at(index).release({ holdId: newId('req'), accountId: customer.accountId })),
    ]);
    const { balance } = await ledger.service.getBalance({ accountId: customer.accountId });
    expect(balance?.creditedNanoUsd).toBe(100n);
    expect((await ledger.service.verify({ accountId: customer.accountId })).drifts).toEqual([]);
  }, 60_000);

  it('ends each hold once when release, settle and expiry race', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const holds = await Promise.all(
      Array.from({ length: 20 }, async () => (await ledger.service.hold(holdRequest(customer, 10n, { ttlMs: 1_000 }))).hold!),
    );
    ledger.clock.advance(60_000);
    const refused = (error: unknown): void => {
      if (!hasReason(error, 'hold_closed')) throw error;
    };
    await Promise.all([
      ...holds.map((hold, index) =>
        at(index)
          .settle(settleRequest(customer, hold.id, 7n))
          .then(() => undefined, refused),
      ),
      ...holds.map((hold, index) => at(index + 1).release({ holdId: hold.id, accountId: customer.accountId })),
      ...services.map((service) => service.expireHolds({ limit: 0 })),
    ]);
    const ended = await Promise.all(
      holds.map(async (hold) => (await ledger.service.getHold({ holdId: hold.id, accountId: customer.accountId })).hold!),
    );
    const settled = ended.filter((hold) => hold.state === HoldState.HOLD_STATE_SETTLED).length;
    const { balance } = await ledger.service.getBalance({ accountId: customer.accountId });
    expect(balance).toMatchObject({ heldNanoUsd: 0n, spentNanoUsd: BigInt(settled) * 7n });
    expect((await ledger.service.verify({ accountId: customer.accountId })).drifts).toEqual([]);
  }, 60_000);

  it('records checkpoints of many accounts from two processes without a deadlock', async () => {
    const customers = await Promise.all(Array.from({ length: 8 }, () => fundedCustomer(ledger.service, 100n)));
    const holds = await Promise.all(customers.map(async (customer) => (await ledger.service.hold(holdRequest(customer, 50n))).hold!));
    const items = holds.map((hold, index) => ({
      holdId: hold.id,
      accountId: hold.accountId,
      costSoFarNanoUsd: BigInt(index),
      ttlMs: 60_000,
    }));
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => at(index).checkpoint({ items: index % 2 === 0 ? items : items.toReversed() })),
    );
    for (const { renewed } of answers) expect(renewed).toEqual(items.map(() => true));
  }, 60_000);
});
