// The operations of one stream: each has the same result as a separate call, whatever the other operations are.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fromRpcStatus } from '#client/errors/rpc-status.js';
import { newId } from '#kit/id.js';
import { callContext } from '#client/call-context.js';
import { testEngines } from '#kit/testing/database.js';
import { type BatchRequest_Operation, type BatchResponse_Result, HoldState } from '#proto/ledger/v1/ledger.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { fundedCustomer, holdRequest, newCustomer, refusalOf, settleRequest } from '../testing/requests.js';

type Case = NonNullable<BatchRequest_Operation['operation']>;

/** Returns the result, with an error as the client reads it. */
function withError(result: BatchResponse_Result['result']) {
  return result?.$case === 'error' ? { $case: 'error' as const, value: fromRpcStatus(result.value) } : result;
}

describe.each(testEngines)('operations on a stream on %s', (engine) => {
  let ledger: TestLedger;

  beforeAll(async () => {
    ledger = await startTestLedger(engine);
  });

  afterAll(() => ledger.stop());

  /** Returns the results of one message, in the order of the operations. */
  async function outcomesOf(
    caller: string,
    operations: readonly (Case | undefined)[],
    fields: Partial<BatchRequest_Operation> = {},
  ): Promise<ReturnType<typeof withError>[]> {
    const requests = async function* (): AsyncGenerator<{ operations: BatchRequest_Operation[] }> {
      yield { operations: operations.map((operation, tag) => ({ tag, timeoutMs: 10_000, traceparent: '', operation, ...fields })) };
    };
    const responses = await Array.fromAsync(ledger.service.batch(requests(), callContext({ caller })));
    const results = responses.flatMap((response) => response.results);
    expect(results.map(({ tag }) => tag).sort((a, b) => a - b)).toEqual([...operations.keys()]);
    return results.sort((a, b) => a.tag - b.tag).map(({ result }) => withError(result));
  }

  const errorOf = (fields: object): object => ({ $case: 'error', value: expect.objectContaining(fields) as unknown });

  it('see the effects of those before them in the message', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const { accountId } = customer;
    const hold = holdRequest(customer, 400n);
    const item = { holdId: hold.holdId, accountId, costSoFarNanoUsd: 100n, ttlMs: 60_000 };
    const results = await outcomesOf('operator', [
      { $case: 'hold', value: hold },
      { $case: 'hold', value: holdRequest(customer, 700n) },
      { $case: 'checkpoint', value: { items: [item] } },
      { $case: 'settle', value: settleRequest(customer, hold.holdId, 150n) },
      { $case: 'release', value: { holdId: hold.holdId, accountId } },
    ]);
    expect(results).toMatchObject([
      { $case: 'hold', value: { replayed: false, hold: { amountNanoUsd: 400n } } },
      errorOf({ reason: 'balance_held', code: 9, details: expect.objectContaining({ available_nano_usd: '600' }) as unknown }),
      { $case: 'checkpoint', value: { renewed: [true] } },
      { $case: 'settle', value: { hold: { state: HoldState.HOLD_STATE_SETTLED, capturedNanoUsd: 150n } } },
      { $case: 'release', value: { hold: { state: HoldState.HOLD_STATE_SETTLED } } },
    ]);
    expect((await ledger.service.getBalance({ accountId })).balance).toMatchObject({ spentNanoUsd: 150n, heldNanoUsd: 0n });
  });

  it('are refused with the same message as a separate call', async () => {
    const customer = await fundedCustomer(ledger.service, 10n);
    const requests = [holdRequest(customer, 11n), holdRequest(customer, -1n), holdRequest(newCustomer(), 1n)];
    const results = await outcomesOf(
      'gateway',
      requests.map((value) => ({ $case: 'hold', value })),
    );
    for (const [index, request] of requests.entries()) {
      const { reason, message, details } = await refusalOf(ledger.service.hold(request));
      expect(results[index]).toMatchObject(errorOf({ reason, message, details }));
    }
  });

  it('do not affect other operations when they are malformed', async () => {
    const customer = await fundedCustomer(ledger.service, 10n);
    const results = await outcomesOf('gateway', [
      { $case: 'hold', value: holdRequest(customer, 5n) },
      { $case: 'hold', value: holdRequest(customer, 5n, { holdId: 'req_?' }) },
      undefined,
      { $case: 'hold', value: holdRequest(customer, 5n) },
    ]);
    expect(results).toMatchObject([
      { $case: 'hold' },
      errorOf({ reason: 'invalid_request', details: { field: 'hold_id', rule: 'id', prefix: 'req' } }),
      errorOf({ reason: 'invalid_request', details: { field: 'operation' } }),
      { $case: 'hold' },
    ]);
  });

  it('require permission for the RPC of their name', async () => {
    const customer = await fundedCustomer(ledger.service, 10n);
    const { accountId } = customer;
    const each = (holdId: string): Case[] => [
      { $case: 'hold', value: holdRequest(customer, 1n, { holdId }) },
      { $case: 'checkpoint', value: { items: [{ holdId, accountId, costSoFarNanoUsd: 0n, ttlMs: 1000 }] } },
      { $case: 'settle', value: settleRequest(customer, holdId, 1n) },
      { $case: 'release', value: { holdId, accountId } },
    ];
    const admitted = async (caller: string): Promise<boolean[]> =>
      (await outcomesOf(caller, each(newId('req')))).map(
        (result) => !(result?.$case === 'error' && result.value?.reason === 'peer_not_permitted'),
      );
    expect(await admitted('gateway')).toEqual([true, true, false, true]);
    expect(await admitted('metering')).toEqual([true, true, true, true]);
    expect(await admitted('inference')).toEqual([false, false, false, false]);
  });

  it('are not executed after their deadline', async () => {
    const customer = await fundedCustomer(ledger.service, 10n);
    const [late] = await outcomesOf('gateway', [{ $case: 'hold', value: holdRequest(customer, 5n) }], { timeoutMs: 1 });
    expect(late).toMatchObject(errorOf({ reason: 'deadline_exceeded' }));
    expect((await ledger.service.getBalance({ accountId: customer.accountId })).balance).toMatchObject({ heldNanoUsd: 0n });
  });

  it('carry a bounded number of checkpoints', async () => {
    const item = { holdId: newId('req'), accountId: newCustomer().accountId, costSoFarNanoUsd: 0n, ttlMs: 1000 };
    const checkpoint = (length: number): Case => ({ $case: 'checkpoint', value: { items: Array.from({ length }, () => item) } });
    // More than a stream may have in flight: a retry of it would be refused too.
    const beyondStream = 5000;
    const [many, ...tooMany] = await outcomesOf('metering', [checkpoint(1000), checkpoint(1001), checkpoint(beyondStream)]);
    expect(many).toMatchObject({ $case: 'checkpoint', value: { renewed: Array.from({ length: 1000 }, () => false) } });
    const refused = errorOf({ reason: 'invalid_request', details: { field: 'items' } });
    expect(tooMany).toMatchObject([refused, refused]);
  });

  it('log a settlement that is refused, as a separate call does', async () => {
    const customer = await fundedCustomer(ledger.service, 10n);
    const holdId = newId('req');
    await ledger.service.release({ holdId, accountId: customer.accountId });
    await outcomesOf('metering', [{ $case: 'settle', value: settleRequest(customer, holdId, 3n) }]);
    expect(ledger.logLines.filter((line) => line.includes(holdId) && line.includes('a settlement was refused'))).toHaveLength(1);
  });
});
