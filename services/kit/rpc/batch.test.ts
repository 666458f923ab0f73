// Batched calls, over every transport: each gets exactly one result of its own.
import { fromRpcStatus } from '#client/errors/rpc-status.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { SpanKind, trace } from '@opentelemetry/api';
import {
  type BatchRequest as LedgerBatchRequest,
  HoldRequest,
  HoldResponse,
  type LedgerService,
  LedgerServiceDefinition,
  ReleaseResponse,
  type ReleaseRequest,
  SettleResponse,
} from '#proto/ledger/v1/ledger.js';
import { AppError } from '#client/errors/app-error.js';
import { type BatchedLedger, type BatchedMethods, batchedNames, batchedService } from '../testing/batched-service.js';
import { type LogLine, recordingLogger } from '../testing/log.js';
import { type RecordedTraces, recordTraces } from '../testing/traces.js';
import { type Connection, transports } from '../testing/transports.js';
import { failureOf, untilStill, untilTrue } from '../testing/waiting.js';
import { batchClient } from '#client/batch/batch-client.js';
import { type BatchRequest, inFlightMax, operationsPerMessageMax } from '#client/batch/batch-contract.js';
import { type CallContext, callContext } from '#client/call-context.js';

const release = (holdId: string): ReleaseRequest => ({ holdId, accountId: 'acct' });
const context = (options: { timeoutMs?: number; signal?: AbortSignal } = {}): CallContext => callContext({ caller: 'gateway', ...options });
/** Responds with the id in the request. */
const echoing: LedgerService['release'] = async ({ holdId }) => ReleaseResponse.fromPartial({ hold: { id: holdId } });

let traces: RecordedTraces;
beforeAll(() => {
  traces = recordTraces();
});
afterAll(() => traces.stop());

describe.each(transports)('batched calls, %s', (_, connect) => {
  let connection: Connection<BatchedLedger> | undefined;
  let closeClient = (): void => {};
  let messages: number[] = [];
  let lines: LogLine[] = [];

  afterEach(async () => {
    closeClient();
    await connection?.close();
    traces.reset();
  });

  async function clientOf(methods: BatchedMethods, caller = 'gateway'): Promise<BatchedLedger> {
    const batched = batchedService(methods);
    ({ messages, lines } = batched);
    connection = await connect(LedgerServiceDefinition, batched.service, caller);
    const { client, close } = batchClient(LedgerServiceDefinition, connection.client, {
      method: 'batch',
      operations: batchedNames,
      caller,
      log: recordingLogger().log,
    });
    closeClient = close;
    return client;
  }

  it('each get their own response', async () => {
    const client = await clientOf({
      release: echoing,
      hold: async ({ holdId }) => HoldResponse.fromPartial({ hold: { id: holdId, amountNanoUsd: 9_223_372_036_854_775_807n } }),
    });
    const [released, held] = await Promise.all([
      client.release(release('a'), context()),
      client.hold(HoldRequest.fromPartial({ holdId: 'b', amountNanoUsd: 1n, minAmountNanoUsd: 1n, ttlMs: 1 }), context()),
    ]);
    expect(released.hold!.id).toBe('a');
    expect(held.hold).toMatchObject({ id: 'b', amountNanoUsd: 9_223_372_036_854_775_807n });
  });

  it('share messages when they are made in one turn, and are not delayed otherwise', async () => {
    const client = await clientOf({ release: echoing });
    const ids = Array.from({ length: 200 }, (__, index) => `id ${index}`);
    const answers = await Promise.all(ids.map((id) => client.release(release(id), context())));
    expect(answers.map(({ hold }) => hold!.id)).toEqual(ids);
    expect(messages).toEqual([operationsPerMessageMax, operationsPerMessageMax, operationsPerMessageMax, 8]);
    await client.release(release('alone'), context());
    expect(messages.at(-1)).toBe(1);
  });

  it('return in the order in which they finish', async () => {
    const last = Promise.withResolvers<boolean>();
    const client = await clientOf({
      release: async (request) => {
        if (request.holdId === 'slow') await last.promise;
        return echoing(request);
      },
    });
    const slow = client.release(release('slow'), context());
    await client.release(release('quick'), context());
    last.resolve(true);
    expect((await slow).hold!.id).toBe('slow');
  });

  it('fail one by one, with the error of a separate call', async () => {
    const client = await clientOf({
      release: async (request) => {
        if (request.holdId === 'held')
          throw new AppError('balance_held', 'Wait.', {
            details: { held_nano_usd: '9007199254740993' },
            retryAfterMs: 1500,
            cause: new Error('secret'),
          });
        if (request.holdId === 'broken') throw new TypeError('password is hunter2');
        return echoing(request);
      },
    });
    const calls = ['a', 'held', 'broken', 'b'].map((id) => client.release(release(id), context()));
    const [a, held, broken, b] = await Promise.allSettled(calls);
    expect([a, b]).toMatchObject([{ value: { hold: { id: 'a' } } }, { value: { hold: { id: 'b' } } }]);
    expect(held).toMatchObject({
      reason: {
        reason: 'balance_held',
        code: 9,
        message: 'Wait.',
        details: { held_nano_usd: '9007199254740993' },
        retryAfterMs: 1500,
        remote: true,
      },
    });
    expect(broken).toMatchObject({ reason: { reason: 'internal', message: 'Something went wrong on our side.' } });
    const logged = lines.filter((line) => JSON.stringify(line).includes('hunter2'));
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatchObject({ level: 'error', rpc: 'tollgate.ledger.v1.LedgerService/Release', caller: 'gateway' });
  });

  it('are not affected by a call that cannot be encoded', async () => {
    const client = await clientOf({ release: echoing, settle: async () => SettleResponse.fromPartial({}) });
    const neighbour = client.release(release('fine'), context());
    const poisoned = client.settle({ holdId: '', accountId: '', costNanoUsd: 2n ** 70n, keyId: '' }, context());
    expect(await failureOf(poisoned)).toMatchObject({ reason: 'internal' });
    expect((await neighbour).hold!.id).toBe('fine');
  });

  it('are not affected by a call whose result cannot be encoded', async () => {
    const client = await clientOf({
      release: async (request) =>
        ReleaseResponse.fromPartial({ hold: { id: request.holdId, amountNanoUsd: request.holdId === 'huge' ? 2n ** 70n : 1n } }),
    });
    const [huge, fine] = await Promise.allSettled([client.release(release('huge'), context()), client.release(release('fine'), context())]);
    expect(huge).toMatchObject({ reason: { reason: 'internal', message: 'Something went wrong on our side.' } });
    expect(fine).toMatchObject({ value: { hold: { id: 'fine' } } });
    expect(lines.filter(({ msg }) => msg === 'a result could not be encoded')).toHaveLength(1);
  });

  it('end with their stream as soon as an operator revokes the caller, even if it sends nothing', async () => {
    const { service, access } = batchedService({ release: echoing });
    const team = { name: 'team', identity: 'CN=team', grants: new Set(['ledger.release']), accountIds: undefined, certificates: [] };
    access.callers.put({ ...team, version: 1n });
    access.callers.confirm();
    connection = await connect(LedgerServiceDefinition, service, 'team');
    const requests = async function* (): AsyncGenerator<LedgerBatchRequest> {
      yield { operations: [{ tag: 1, timeoutMs: undefined, traceparent: '', operation: { $case: 'release', value: release('a') } }] };
      await new Promise(() => undefined);
    };
    const responses = connection.client.batch(requests(), callContext({ caller: 'team' }))[Symbol.asyncIterator]();
    expect((await responses.next()).value).toMatchObject({ results: [{ tag: 1 }] });
    const ended = failureOf(responses.next() as Promise<unknown>);
    access.callers.put({ ...team, version: 2n }, true);
    expect(await ended).toMatchObject({ reason: 'peer_not_permitted' });
  });

  it('are each admitted by the grant of their own method', async () => {
    const client = await clientOf({ release: echoing });
    const [released, settled] = await Promise.allSettled([
      client.release(release('mine'), context()),
      client.settle({ holdId: 'b', accountId: '', costNanoUsd: 1n, keyId: '' }, context()),
    ]);
    expect(released.status).toBe('fulfilled');
    expect(settled).toMatchObject({
      reason: { reason: 'peer_not_permitted', message: expect.stringContaining('"gateway" lacks the grant "ledger.settle".') },
    });
  });

  it('end at their deadline or when their caller cancels, each alone', async () => {
    const seen: (number | undefined)[] = [];
    const client = await clientOf({
      release: (request, callee) => {
        seen.push(callee!.deadlineMs);
        return request.holdId === 'stuck' ? new Promise(() => {}) : echoing(request);
      },
    });
    // Opening a connection may take longer than the time of the call below.
    await client.release(release('first'), context());
    const caller = new AbortController();
    const startMs = Date.now();
    const late = client.release(release('stuck'), context({ timeoutMs: 500 }));
    const cancelled = client.release(release('stuck'), context({ signal: caller.signal }));
    const fine = client.release(release('fine'), context());
    expect((await fine).hold!.id).toBe('fine');
    caller.abort();
    expect(await failureOf(cancelled)).toMatchObject({ reason: 'cancelled' });
    expect(await failureOf(late)).toMatchObject({ reason: 'deadline_exceeded' });
    expect(Date.now() - startMs).toBeLessThan(10_000);
    // The service knows how long it has, less the time that the response needs for its way back.
    expect(seen[1]! - startMs).toBeGreaterThan(300);
    expect(seen[1]! - startMs).toBeLessThan(5000);
  });

  it('fail as overloaded beyond the limit, and not before', async () => {
    const finish = Promise.withResolvers<boolean>();
    const client = await clientOf({
      release: async (request) => {
        await finish.promise;
        return echoing(request);
      },
    });
    const calls = Array.from({ length: inFlightMax }, (__, index) => client.release(release(String(index)), context()));
    expect(await failureOf(client.release(release('one more'), context()))).toMatchObject({ reason: 'overloaded', retryAfterMs: 1000 });
    finish.resolve(true);
    expect((await Promise.all(calls)).at(-1)!.hold!.id).toBe(String(inFlightMax - 1));
    expect((await client.release(release('again'), context())).hold!.id).toBe('again');
  }, 30_000);

  it('are each in the trace of their own caller, and in none when that trace is not sampled', async () => {
    const client = await clientOf({ release: echoing });
    const tracer = trace.getTracer('test');
    const traced = (name: string): Promise<string> =>
      tracer.startActiveSpan(name, async (span) => {
        await client.release(release(name), context());
        span.end();
        return span.spanContext().traceId;
      });
    const [one, two] = await Promise.all([traced('one'), traced('two'), client.release(release('untraced'), context())]);
    const releases = (): ReturnType<RecordedTraces['spans']> =>
      traces.spans().filter(({ name, kind }) => name === 'tollgate.ledger.v1.LedgerService/Release' && kind === SpanKind.SERVER);
    await untilTrue(() => releases().length >= 2);
    expect(new Set(releases().map((span) => span.spanContext().traceId))).toEqual(new Set([one, two]));
    expect(releases()).toHaveLength(2);
    // The stream that carries the calls belongs to none of them.
    expect(traces.spans().map(({ name }) => name)).not.toContain('tollgate.ledger.v1.LedgerService/Batch');
  });
});

describe('the serving side of a batch', () => {
  /** Returns the results of one message, by the names of their cases. */
  async function outcomesOf(operations: BatchRequest['operations'], methods: BatchedMethods): Promise<[number, string, unknown][]> {
    const { service } = batchedService(methods);
    const requests = async function* (): AsyncGenerator<BatchRequest> {
      yield { operations };
    };
    const results: [number, string, unknown][] = [];
    for await (const response of service.batch(requests() as Parameters<LedgerService['batch']>[0], context())) {
      for (const { tag, result } of response.results) {
        const value = result!.$case === 'error' ? fromRpcStatus(result!.value) : result!.value;
        results.push([tag, result!.$case, value]);
      }
    }
    return results.sort(([a], [b]) => a - b);
  }

  const operation = (tag: number, fields: object = {}) => ({
    tag,
    traceparent: '',
    operation: { $case: 'release', value: release(String(tag)) },
    ...fields,
  });

  it('rejects operations that it does not know, and nothing else', async () => {
    const results = await outcomesOf([operation(1), operation(2, { operation: undefined }), operation(3)], { release: echoing });
    expect(results.map(([tag, name]) => [tag, name])).toEqual([
      [1, 'release'],
      [2, 'error'],
      [3, 'release'],
    ]);
    expect(results[1]![2]).toMatchObject({ code: 3, reason: 'invalid_request', details: { field: 'operation' } });
  });

  it('rejects operations beyond the size of a message', async () => {
    const results = await outcomesOf(
      Array.from({ length: operationsPerMessageMax + 2 }, (__, tag) => operation(tag)),
      { release: echoing },
    );
    expect(results.filter(([, name]) => name === 'error').map(([tag]) => tag)).toEqual([
      operationsPerMessageMax,
      operationsPerMessageMax + 1,
    ]);
    expect(results.at(-1)![2]).toMatchObject({ reason: 'invalid_request', details: { field: 'operations' } });
  });

  it.each(['breaks off', 'stops reading'])('stops reading when its caller %s while its queue is full', async (how) => {
    const { service, messages } = batchedService({ release: () => new Promise(() => {}) });
    let isReading = true;
    const requests = async function* (): AsyncGenerator<BatchRequest> {
      try {
        for (;;) yield { operations: Array.from({ length: operationsPerMessageMax }, (__, tag) => operation(tag)) };
      } finally {
        isReading = false;
      }
    };
    const leaving = new AbortController();
    const responses = service
      .batch(requests() as Parameters<LedgerService['batch']>[0], context({ signal: leaving.signal }))
      [Symbol.asyncIterator]();
    // The first error is read, and the rest pile up.
    await responses.next();
    await untilStill(() => messages.length);
    const read = messages.length;
    expect([read > inFlightMax / operationsPerMessageMax, isReading]).toEqual([true, true]);
    if (how === 'breaks off') {
      leaving.abort();
      while ((await responses.next().catch(() => undefined))?.done === false);
    } else {
      await responses.return!();
    }
    await untilTrue(() => !isReading);
    expect([isReading, messages.length]).toEqual([false, read]);
  });
});
