import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import type { RecordUsageRequest, UsageRecord } from '#proto/metering/v1/metering.js';
import { call, report, tokens } from '../testing/calls.js';
import { find, Harness, until } from '../testing/harness.js';
import { type Customer, heldNanoUsd, type Money, startMoney } from '../testing/with-ledger.js';

const studio = callContext({ caller: 'image-studio' });

describe.each(testEngines)('usage reported by a registered caller, on %s', (engine) => {
  let money: Money;
  let customer: Customer;

  beforeAll(async () => {
    money = await startMoney(engine);
    customer = await money.customer();
  });

  afterAll(() => money.stop());

  const useOf = (id: string, { keyId } = customer): RecordUsageRequest =>
    report({ call: call({ ...customer, keyId, id, heldNanoUsd, price: money.catalog[0]!, startedAtMs: BigInt(money.clock.nowMs()) }) });
  const record = async (request: RecordUsageRequest): Promise<UsageRecord> => (await money.metering.recordUsage(request, studio)).record!;
  const expectRejected = async (request: RecordUsageRequest, reason: string): Promise<void> => {
    const error = await record(request).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).reason).toBe(reason);
    expect(await find(money.metering, request.call!.id)).toBeUndefined();
  };

  it('is charged once, however often it is reported', async () => {
    const id = await money.hold(customer);
    const first = await record(useOf(id));
    await until(async () => (await find(money.metering, id))?.settlement !== undefined);
    expect((await record(useOf(id))).chargeNanoUsd).toBe(first.chargeNanoUsd);
    const { hold } = await money.ledger.getHold({ holdId: id, accountId: customer.accountId });
    expect(hold!.capturedNanoUsd).toBe(first.chargeNanoUsd);
  });

  it('is rejected without a hold, even if the account has money', async () => {
    await expectRejected(useOf(newId('req', money.clock.nowMs())), 'not_found');
  });

  it('is rejected after a release, and nothing is left for an operator', async () => {
    const id = await money.hold(customer);
    await money.ledger.release({ holdId: id, accountId: customer.accountId });
    await expectRejected(useOf(id), 'hold_closed');
    expect(await money.metering.getOutbox({})).toMatchObject({ pending: 0n, failed: 0n });
  });

  it('is not charged by checkpoints either, without a hold or after a release', async () => {
    const released = await money.hold(customer);
    await money.ledger.release({ holdId: released, accountId: customer.accountId });
    const held = await money.hold(customer);
    const calls = [newId('req', money.clock.nowMs()), released, held].map((id) => useOf(id).call!);
    const items = calls.map((each) => ({ call: each, tokens: tokens({ inputTokens: 5 }) }));
    expect((await money.metering.checkpointUsage({ items }, studio)).open).toEqual([false, false, true]);
    const rows = await money.meteringDb.knex('open_call').select('id');
    expect(rows.map(({ id }: { id: Buffer }) => `req_${id.toString('hex')}`)).toEqual([held]);
  });

  it('is rejected for another key than that of the hold', async () => {
    await expectRejected(useOf(await money.hold(customer), { ...customer, keyId: newId('key') }), 'idempotency_mismatch');
  });

  it('is rejected if the hold was settled without a record', async () => {
    const id = await money.hold(customer);
    await money.ledger.settle({ holdId: id, accountId: customer.accountId, costNanoUsd: 5n, keyId: customer.keyId });
    await expectRejected(useOf(id), 'hold_closed');
  });
});

it('is recorded while the ledger is unavailable, and charged later', async () => {
  const harness = await Harness.create('sqlite');
  const { service } = await harness.replica();
  harness.ledger.isUnavailable = true;
  const request = report();
  const { record } = await service.recordUsage(request, studio);
  expect(harness.ledger.settled.size).toBe(0);
  harness.ledger.isUnavailable = false;
  await until(async () => harness.ledger.settled.has(request.call!.id));
  expect(harness.ledger.settled.get(request.call!.id)!.costNanoUsd).toBe(record!.chargeNanoUsd);
  await harness.close();
});

it('is checked again after a caller whose deadline was too short for the ledger', async () => {
  const harness = await Harness.create('sqlite');
  const { service } = await harness.replica();
  const { batchGetHolds } = harness.ledger.client;
  harness.ledger.client.batchGetHolds = async () => {
    throw new AppError('deadline_exceeded', 'No response came in time.');
  };
  await service.recordUsage(report(), studio);
  harness.ledger.client.batchGetHolds = batchGetHolds;
  await expect(service.recordUsage(report(), studio)).rejects.toMatchObject({ reason: 'not_found' });
  await harness.close();
});
