// Operations that share a transaction: each has its own outcome, and an operation is dropped when its caller no longer waits.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Access } from '#kit/rpc/access/access.js';
import { ManualClock } from '#kit/clock.js';
import { isCheckViolation } from '#kit/db/errors.js';
import { openDatabase } from '#kit/db/open.js';
import { newId } from '#kit/id.js';
import { callContext } from '#client/call-context.js';
import { testEngines } from '#kit/testing/database.js';
import { HoldState, type HoldRequest } from '#proto/ledger/v1/ledger.js';
import { createLedger } from '../index.js';
import type { Operation } from '../books/model.js';
import { createOperationLane } from './operation-lane.js';
import { checkpointOperation, holdOperation, releaseOperation, settleOperation } from '../requests/operations.js';
import { accountColumns, accountScope } from '../store/rows.js';
import { createStore, operationsMax } from '../store/store.js';
import { unaudited } from '../testing/lane-books.js';
import { quietConfig, startTestLedger, type TestLedger } from '../testing/ledger.js';
import { type Customer, fundedCustomer, holdRequest, refusalOf, settleRequest } from '../testing/requests.js';

const held = (request: HoldRequest) => holdOperation(request, 0);

describe.each(testEngines)('the lane of operations on %s', (engine) => {
  let ledger: TestLedger;
  let customer: Customer;

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
    customer = await fundedCustomer(ledger.service, 100n);
  }, 60_000);

  afterEach(() => ledger.stop(), 60_000);

  const balance = async (of: Customer) => (await ledger.service.getBalance({ accountId: of.accountId })).balance!;

  /** Returns a separate lane over the ledger's database, and records the kinds of operations of each transaction. */
  function watchedLane() {
    const store = createStore(ledger.db, unaudited);
    const batches: Operation['kind'][][] = [];
    const lane = createOperationLane({
      // With one lane all operations that arrive together share a transaction, whatever the slots of the accounts.
      config: { ...quietConfig, lanes: 1 },
      engine,
      clock: ledger.clock,
      store: {
        execute(operations, nowMs) {
          batches.push(operations.map(({ kind }) => kind));
          return store.execute(operations, nowMs);
        },
      },
    });
    return { lane, batches };
  }

  /** Makes ending any of the account's holds violate a CHECK: less is set aside than its holds amount to. */
  async function poison(victim: Customer): Promise<void> {
    await ledger.db
      .knex('bucket')
      .where({ ...accountColumns(victim.accountId, engine), scope_id: accountScope })
      .update({ held_nano_usd: 0n });
  }

  it('shows each operation the effects of those before it, in one transaction', async () => {
    const { lane, batches } = watchedLane();
    const request = holdRequest(customer, 60n);
    const { holdId, accountId } = request;
    const item = { holdId, accountId, costSoFarNanoUsd: 20n, ttlMs: 60_000 };
    const outcomes = await Promise.all([
      lane.add(held(request)),
      lane.add(held(request)),
      lane.add(held(holdRequest(customer, 41n))),
      lane.add(checkpointOperation(item, 0)),
      lane.add(settleOperation(settleRequest(customer, holdId, 35n), true)),
      lane.add(releaseOperation({ holdId, accountId })),
      lane.add(checkpointOperation(item, 0)),
      lane.add(held(holdRequest(customer, 65n))),
    ]);
    expect(batches).toEqual([['hold', 'hold', 'hold', 'checkpoint', 'settle', 'release', 'checkpoint', 'hold']]);
    expect(outcomes).toMatchObject([
      { reply: { replayed: false } },
      { reply: { replayed: true } },
      { refusal: { reason: 'balance_held' } },
      { reply: { renewed: true } },
      { reply: { hold: { capturedNanoUsd: 35n }, replayed: false } },
      { reply: { hold: { state: HoldState.HOLD_STATE_SETTLED } } },
      { reply: { renewed: false } },
      { reply: { hold: { amountNanoUsd: 65n } } },
    ]);
    expect(await balance(customer)).toMatchObject({ spentNanoUsd: 35n, heldNanoUsd: 65n, availableNanoUsd: 0n });
    expect((await ledger.service.verify({ accountId })).drifts).toEqual([]);
  });

  it('fails only the operation that the database rejects', async () => {
    const victim = await fundedCustomer(ledger.service, 100n);
    const { hold } = await ledger.service.hold(holdRequest(victim, 60n));
    await poison(victim);
    const { lane, batches } = watchedLane();
    const neighbours = Array.from({ length: 10 }, () => lane.add(held(holdRequest(customer, 10n))));
    const refused = lane.add(settleOperation(settleRequest(victim, hold!.id, 40n), true));
    neighbours.push(...Array.from({ length: 10 }, () => lane.add(held(holdRequest(customer, 10n)))));

    const error = await refused.then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(isCheckViolation(error)).toBe(true);
    const outcomes = await Promise.all(neighbours);
    expect(outcomes.map((outcome) => outcome.refusal?.reason)).toEqual([
      ...Array<undefined>(10).fill(undefined),
      ...Array<string>(10).fill('balance_held'),
    ]);
    expect(batches[0]).toHaveLength(21);
    expect(await balance(customer)).toMatchObject({ heldNanoUsd: 100n });
    expect((await ledger.service.getHold({ holdId: hold!.id, accountId: victim.accountId })).hold).toEqual(hold);
    expect((await ledger.service.verify({ accountId: customer.accountId })).drifts).toEqual([]);
  });

  it('ends the expired holds of other accounts next to one that cannot be written, which it tries once', async () => {
    const victim = await fundedCustomer(ledger.service, 100n);
    const holdsOf = (owner: Customer) =>
      Promise.all(Array.from({ length: 5 }, async () => (await ledger.service.hold(holdRequest(owner, 10n, { ttlMs: 1_000 }))).hold!.id));
    const [ids] = await Promise.all([holdsOf(customer), holdsOf(victim)]);
    await poison(victim);
    ledger.clock.advance(60_000);
    const { expired } = await ledger.service.expireHolds({ limit: 0 });
    expect(expired.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect(ledger.logLines.filter((line) => line.includes('could not be ended') && line.includes(victim.accountId))).toHaveLength(1);
  });

  it('refuses operations beyond its queue with overloaded, without executing them', async () => {
    const module = createLedger({ ...quietConfig, queueMax: operationsMax, lanes: 1 }, { ...ledger, access: new Access() });
    const owner = await fundedCustomer(ledger.service, 1000n);
    const amounts = [...Array<bigint>(operationsMax).fill(1n), 40n];
    const results = await Promise.allSettled(amounts.map((amount) => module.service.hold(holdRequest(owner, amount))));
    expect(results.slice(0, -1).filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(results.at(-1)).toMatchObject({ status: 'rejected', reason: { reason: 'overloaded', retryAfterMs: 1000 } });
    expect(await balance(owner)).toMatchObject({ heldNanoUsd: BigInt(operationsMax) });
  });

  it('takes the checkpoints of a busy account together, however many lanes share the queue', async () => {
    const module = createLedger({ ...quietConfig, queueMax: 1000, lanes: 64 }, { ...ledger, access: new Access() });
    const ids = await Promise.all(Array.from({ length: 100 }, async () => (await ledger.service.hold(holdRequest(customer, 1n))).hold!.id));
    const items = ids.map((holdId) => ({ holdId, accountId: customer.accountId, costSoFarNanoUsd: 1n, ttlMs: 60_000 }));
    expect((await module.service.checkpoint({ items })).renewed).toEqual(ids.map(() => true));
  });

  it('does not execute an operation whose caller no longer waits', async () => {
    const caller = new AbortController();
    const hold = (request: HoldRequest, options: { timeoutMs?: number; signal?: AbortSignal }) =>
      refusalOf(ledger.service.hold(request, callContext({ caller: 'gateway', ...options })));
    const late = holdRequest(customer, 10n);
    const left = holdRequest(customer, 10n);
    const refusals = Promise.all([hold(late, { timeoutMs: 0 }), hold(left, { signal: caller.signal })]);
    caller.abort();
    expect(await refusals).toMatchObject([{ reason: 'deadline_exceeded' }, { reason: 'cancelled' }]);
    for (const { holdId, accountId } of [late, left]) {
      expect(await refusalOf(ledger.service.getHold({ holdId, accountId }))).toMatchObject({ reason: 'not_found' });
    }
    expect(await balance(customer)).toMatchObject({ heldNanoUsd: 0n });
  });

  // A SQLite file is locked as a whole.
  if (engine === 'mysql')
    it('lets accounts in another range of slots continue while an account is locked', async () => {
      const laneOf = ({ accountId }: Customer) => Math.floor(accountColumns(accountId, engine).slot / 128);
      let other = customer;
      while (laneOf(other) === laneOf(customer)) other = await fundedCustomer(ledger.service, 100n);
      const { slot, account_id } = accountColumns(customer.accountId, engine);
      const locker = await ledger.db.knex.transaction();
      await locker('bucket').where({ slot, account_id }).forUpdate();
      let isHeld = false;
      const waiting = ledger.service.hold(holdRequest(customer, 10n)).then(() => (isHeld = true));
      await ledger.service.hold(holdRequest(other, 10n));
      expect(isHeld).toBe(false);
      await locker.rollback();
      expect(await waiting).toBe(true);
    });

  it('finishes accepted operations before it stops', async () => {
    const module = createLedger(quietConfig, { ...ledger, access: new Access() });
    await module.start();
    let held = 0;
    for (let index = 0; index < 5; index += 1) void module.service.hold(holdRequest(customer, 10n)).then(() => (held += 1));
    await module.stop();
    expect(held).toBe(5);
    expect(await balance(customer)).toMatchObject({ heldNanoUsd: 50n });
  });
});

describe('the lane of operations', () => {
  it('tries once, not each operation separately, when the database is unavailable', async () => {
    const db = openDatabase('mysql://nobody@127.0.0.1:1/nothing');
    const store = createStore(db, unaudited);
    let executions = 0;
    const lane = createOperationLane({
      config: { ...quietConfig, lanes: 1 },
      engine: 'mysql',
      clock: new ManualClock(0),
      store: {
        execute(operations, nowMs) {
          executions += 1;
          return store.execute(operations, nowMs);
        },
      },
    });
    const operations = [1, 2, 3].map(() => releaseOperation({ holdId: newId('req'), accountId: newId('acct') }));
    const results = await Promise.allSettled(operations.map((operation) => lane.add(operation)));
    expect(results).toMatchObject(operations.map(() => ({ status: 'rejected', reason: { code: 'ECONNREFUSED' } })));
    expect(executions).toBe(1);
    await db.close();
  });
});
