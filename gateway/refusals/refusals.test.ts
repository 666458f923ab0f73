import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { ManualClock } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { silentLog as log } from '#kit/testing/log.js';
import { untilTrue } from '#kit/testing/waiting.js';
import { Key } from '#proto/auth/v1/auth.js';
import type { RecordRefusalsRequest } from '#proto/metering/v1/metering.js';
import { createRefusals, type RefusedRequest, type Refusals } from './refusals.js';

const quarterMs = 900_000;
const startMs = 2_000_000 * quarterMs;

describe('the refused calls of a gateway', () => {
  /** What metering received, stored or not. */
  let received: RecordRefusalsRequest[];
  let fail: () => AppError | undefined;
  let clock: ManualClock;
  let refusals: Refusals;

  beforeEach(() => {
    received = [];
    fail = () => undefined;
    clock = new ManualClock(startMs);
    refusals = createRefusals({
      metering: {
        recordRefusals: async (request) => {
          received.push(request);
          const error = fail();
          if (error !== undefined) throw error;
          return {};
        },
      },
      models: { idOf: (name) => ({ echo: 'sandbox/echo', 'sandbox/echo': 'sandbox/echo' })[name] },
      clock,
      log,
      rpcTimeoutMs: 1000,
    });
  });

  afterEach(() => refusals.stop());

  const key = Key.fromPartial({ id: newId('key'), accountId: newId('acct') });
  const refused = (changes: Partial<RefusedRequest> = {}): RefusedRequest => ({
    requestId: newId('req'),
    key,
    endpoint: 'messages',
    requestedModel: 'echo',
    error: new AppError('balance_empty', 'Too low.', { details: { needed_nano_usd: '5', available_nano_usd: '1' }, retryAfterMs: 1500.4 }),
    httpStatus: 402,
    clientRequestId: 'mine',
    ...changes,
  });
  const all = () => received.flatMap(({ series }) => series);
  const counted = () => all().reduce((sum, { calls }) => sum + Number(calls), 0);
  const examples = () => all().flatMap((series) => series.examples);

  it('are sent together within about a second, with what was known', async () => {
    const first = refused();
    refusals.note(first);
    refusals.note(refused({ requestedModel: 'sandbox/echo' }));
    refusals.note(refused({ error: new AppError('model_unknown', 'No such model.'), requestedModel: 'no/such', httpStatus: 404 }));
    await untilTrue(() => received.length > 0);
    expect(received).toHaveLength(1);
    const { accountId, id: keyId } = key;
    expect(all()).toMatchObject([
      { accountId, keyId, modelId: 'sandbox/echo', reason: 'balance_empty', quarterMs: BigInt(startMs), calls: 2n },
      // A model that the catalog does not have is counted without its name, which anybody may choose, and named in the example.
      { accountId, keyId, modelId: '', reason: 'model_unknown', calls: 1n, examples: [{ requestedModel: 'no/such', httpStatus: 404 }] },
    ]);
    expect(examples()[0]).toMatchObject({
      requestId: first.requestId,
      requestedModel: 'echo',
      endpoint: 'messages',
      httpStatus: 402,
      refusedAtMs: BigInt(startMs),
      message: 'Too low.',
      details: { needed_nano_usd: '5', available_nano_usd: '1' },
      retryAfterMs: 1500,
      clientRequestId: 'mine',
    });
  });

  it('keep no text of a body that is not JSON, and no cause of an internal error', async () => {
    refusals.note(refused({ error: new AppError('invalid_request', 'Unexpected token in "my secret prompt".') }));
    refusals.note(refused({ error: new AppError('call_closed', 'hidden', { details: { hidden: '1' } }), httpStatus: 500 }));
    refusals.note(refused({ error: new AppError('invalid_request', 'n must be 1.', { details: { field: 'n' } }) }));
    await refusals.stop();
    expect(examples().map(({ message, details }) => [message, details])).toEqual([
      ['', {}],
      ['n must be 1.', { field: 'n' }],
      ['', {}],
    ]);
    expect(all().map(({ reason }) => reason)).toEqual(['invalid_request', 'internal']);
  });

  it('of a flood are all counted, and sent as few examples', async () => {
    for (let call = 0; call < 10_000; call += 1) refusals.note(refused());
    await refusals.stop();
    expect(counted()).toBe(10_000);
    expect(examples()).toHaveLength(200);
    // A minute later there is room for five more.
    clock.advance(60_000);
    for (let call = 0; call < 1000; call += 1) refusals.note(refused());
    await refusals.stop();
    expect(counted()).toBe(11_000);
    expect(examples()).toHaveLength(205);
    // The next quarter of an hour has its own.
    clock.advance(quarterMs);
    refusals.note(refused());
    await refusals.stop();
    expect(examples()).toHaveLength(206);
    expect(all().at(-1)).toMatchObject({ quarterMs: BigInt(startMs + quarterMs), calls: 1n });
  });

  it('of many keys are sent in messages of a bounded size', async () => {
    const keys = Array.from({ length: 2500 }, () => Key.fromPartial({ id: newId('key'), accountId: key.accountId }));
    for (const each of keys) refusals.note(refused({ key: each }));
    await refusals.stop();
    expect(counted()).toBe(2500);
    expect(examples()).toHaveLength(2000);
    for (const { series } of received) {
      expect(series.length).toBeLessThanOrEqual(1000);
      expect(series.reduce((sum, each) => sum + each.examples.length, 0)).toBeLessThanOrEqual(500);
    }
  });

  it('are sent again under the same batch id until metering has them', async () => {
    fail = () => (received.length <= 1 ? new AppError('service_unavailable', 'Unavailable.') : undefined);
    refusals.note(refused());
    await untilTrue(() => received.length === 1);
    refusals.note(refused());
    await untilTrue(() => received.length === 3);
    expect(received[1]).toEqual(received[0]);
    expect(received[2]!.batchId).not.toEqual(received[0]!.batchId);
    expect(received[2]!.series).toMatchObject([{ calls: 1n }]);
  });

  it('do not wait behind a batch that metering rejects', async () => {
    fail = () => (received.length === 1 ? new AppError('invalid_request', 'malformed') : undefined);
    refusals.note(refused());
    await refusals.stop();
    refusals.note(refused());
    await refusals.stop();
    expect(received).toHaveLength(2);
  });
});
