// One suite for every transport: what passes here behaves the same in one process and in several.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { context as active, propagation, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { AppError } from '#client/errors/app-error.js';
import { probeAccess } from '../testing/access.js';
import { type LogLine, recordingLogger } from '../testing/log.js';
import { probe, type ProbeService, probeService, ProbeServiceDefinition } from '../testing/probe-service.js';
import { failureOf, untilStill, untilTrue } from '../testing/waiting.js';
import { type RecordedTraces, recordTraces } from '../testing/traces.js';
import { type Connection, encodingTransports, transports } from '../testing/transports.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { crossings } from './local/crossing.js';
import { localClient } from './local/local-client.js';
import { decorateService } from './chain/standard-chain.js';

let traces: RecordedTraces;

beforeAll(() => {
  traces = recordTraces();
});

afterAll(() => traces.stop());

describe.each(transports)('a service %s', (name, connect, aheadMax) => {
  let connection: Connection<ProbeService> | undefined;
  let lines: LogLine[] = [];

  afterEach(async () => {
    await connection?.close();
    traces.reset();
  });

  async function clientOf(methods: Partial<ProbeService>, caller = 'gateway'): Promise<ProbeService> {
    const recording = recordingLogger('debug');
    lines = recording.lines;
    connection = await connect(
      ProbeServiceDefinition,
      decorateService(ProbeServiceDefinition, probeService(methods), { access: probeAccess(), log: recording.log }),
      caller,
    );
    return connection.client;
  }

  const context = (options: { timeoutMs?: number; signal?: AbortSignal } = {}): CallContext =>
    callContext({ caller: 'gateway', ...options });

  it('answers', async () => {
    const client = await clientOf({ echo: async (request) => probe(`${request.text}!`, request.parts) });
    expect(await client.echo(probe('hello', ['a', 'b']), context())).toEqual(probe('hello!', ['a', 'b']));
  });

  it('returns the final response, after a provisional one or without it', async () => {
    const received: string[] = [];
    const client = await clientOf({
      async echo(request, callee) {
        callee?.onProvisional?.(probe(`${request.text} applied`));
        await new Promise((resolve) => setImmediate(resolve));
        return probe(`${request.text} durable`);
      },
    });
    const onProvisional = (response: unknown): void => void received.push((response as ReturnType<typeof probe>).text);
    received.push((await client.echo(probe('hold'), { ...context(), onProvisional })).text);
    // Only transports within one process carry it.
    expect(received).toEqual(name.includes('gRPC') ? ['hold durable'] : ['hold applied', 'hold durable']);
  });

  it('carries the token of the acting user to where it is verified, and no actor that the caller claims', async () => {
    const seen: (CallContext | undefined)[] = [];
    const client = await clientOf({
      echo: async (request, callee) => {
        seen.push(callee);
        return request;
      },
      async *count(__, callee) {
        seen.push(callee);
        yield probe('');
      },
    });
    const actor = {
      userId: 'user_1',
      sessionId: '',
      email: '',
      isOperator: true,
      roles: new Map(),
      projectRoles: new Map(),
      clientAddress: '',
    };
    // The service has no keys to verify a token with, so a token that arrives is refused.
    const refused = { reason: 'service_unavailable', message: expect.stringContaining('acting user') };
    const acting = { ...context(), actorToken: 'a.b.c', actor };
    expect(await failureOf(client.echo(probe(''), acting))).toMatchObject(refused);
    const read = async (): Promise<void> => {
      for await (const _message of client.count(probe(''), acting));
    };
    expect(await failureOf(read())).toMatchObject(refused);
    await client.echo(probe(''), { ...context(), actor });
    expect(seen.map((callee) => callee?.actor)).toEqual([undefined]);
  });

  it('streams in order, to the end', async () => {
    const client = await clientOf({
      async *count(request) {
        for (let index = 0; index < Number(request.text); index += 1) yield probe(String(index));
      },
    });
    const texts = await Array.fromAsync(client.count(probe('300'), context()), ({ text }) => text);
    expect(texts).toEqual(Array.from({ length: 300 }, (__, index) => String(index)));
  });

  it('delivers a typed error unchanged, except for its cause', async () => {
    const thrown = new AppError('balance_held', 'Wait for the calls in flight.', {
      details: { held_nano_usd: '9007199254740993' },
      retryAfterMs: 1500,
      cause: new Error('secret'),
    });
    const client = await clientOf({
      echo: async () => {
        throw thrown;
      },
    });
    const error = await failureOf(client.echo(probe(''), context()));
    expect(error).toMatchObject({
      reason: 'balance_held',
      message: 'Wait for the calls in flight.',
      details: { held_nano_usd: '9007199254740993' },
      retryAfterMs: 1500,
    });
    expect(error).not.toBe(thrown);
    expect(JSON.stringify(error.cause ?? null)).not.toContain('secret');
  });

  it('hides an unknown error and logs it once', async () => {
    const client = await clientOf({
      echo: async () => {
        throw new TypeError('password is hunter2');
      },
    });
    const error = await failureOf(client.echo(probe(''), context()));
    expect(error).toMatchObject({ reason: 'internal', message: 'Something went wrong on our side.' });
    expect(`${JSON.stringify(error)}${String(error.cause)}`).not.toContain('hunter2');
    const logged = lines.filter((line) => JSON.stringify(line).includes('hunter2'));
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatchObject({ level: 'error', rpc: 'tollgate.test.v1.ProbeService/Echo', caller: 'gateway' });
  });

  it('delivers the messages before an error in a stream', async () => {
    const client = await clientOf({
      async *count() {
        yield probe('1');
        yield probe('2');
        throw new AppError('upstream_failed', 'The upstream broke off.');
      },
    });
    const texts: string[] = [];
    const read = async (): Promise<void> => {
      for await (const message of client.count(probe(''), context())) texts.push(message.text);
    };
    expect(await failureOf(read())).toMatchObject({ reason: 'upstream_failed' });
    expect(texts).toEqual(['1', '2']);
  });

  it("runs the producer's finally when the consumer disconnects", async () => {
    const cleaned = Promise.withResolvers<boolean>();
    const client = await clientOf({
      async *count(__, producerContext) {
        try {
          for (let index = 0; ; index += 1) yield probe(String(index));
        } finally {
          cleaned.resolve(producerContext!.signal.aborted);
        }
      },
    });
    for await (const message of client.count(probe(''), context())) if (message.text === '3') break;
    expect(await cleaned.promise).toBe(true);
  });

  it('aborts a producer that is waiting when its consumer cancels', async () => {
    const cleaned = Promise.withResolvers<boolean>();
    const client = await clientOf({
      async *count(__, producerContext) {
        try {
          yield probe('first');
          await new Promise((resolve) => producerContext!.signal.addEventListener('abort', resolve));
        } finally {
          cleaned.resolve(true);
        }
      },
    });
    const caller = new AbortController();
    const read = async (): Promise<void> => {
      for await (const _message of client.count(probe(''), context({ signal: caller.signal }))) caller.abort();
    };
    expect(await failureOf(read())).toMatchObject({ reason: 'cancelled' });
    expect(await cleaned.promise).toBe(true);
  });

  it('delivers nothing more to a consumer that has cancelled, whatever has arrived', async () => {
    let sent = 0;
    const client = await clientOf({
      async *count() {
        for (; sent < 10; sent += 1) yield probe(String(sent));
      },
    });
    const caller = new AbortController();
    const messages = client.count(probe(''), context({ signal: caller.signal }))[Symbol.asyncIterator]();
    await messages.next();
    await untilStill(() => sent);
    caller.abort();
    expect(await failureOf(messages.next())).toMatchObject({ reason: 'cancelled' });
  });

  it('holds the producer back while the consumer stalls', async () => {
    let produced = 0;
    const client = await clientOf({
      async *count() {
        // 10 kB each: within the bound there are 2 MB on the way at most.
        for (; produced < 2000;) {
          produced += 1;
          yield probe('x'.repeat(10_000));
        }
      },
    });
    const iterator = client.count(probe(''), context())[Symbol.asyncIterator]();
    await iterator.next();
    await untilStill(() => produced);
    expect(produced).toBeLessThanOrEqual(aheadMax);
    let received = 1;
    while ((await iterator.next()).done !== true) received += 1;
    expect(received).toBe(2000);
  });

  it('fails at the deadline even if the service does not', async () => {
    const client = await clientOf({ echo: () => new Promise(() => {}) });
    const startMs = performance.now();
    expect(await failureOf(client.echo(probe(''), context({ timeoutMs: 150 })))).toMatchObject({ reason: 'deadline_exceeded' });
    expect(performance.now() - startMs).toBeLessThan(5000);
  });

  it('aborts a service that is late before the caller gives up', async () => {
    let attempt = { arrivedMs: 0, late: Promise.withResolvers<unknown>() };
    const client = await clientOf({
      echo: (__, callee) => {
        const { late } = attempt;
        attempt.arrivedMs = performance.now();
        return new Promise((_resolve, reject) => {
          callee!.signal.addEventListener('abort', () => {
            late.resolve(callee!.signal.reason);
            reject(new AppError('upstream_timeout', 'The upstream was slow.'));
          });
        });
      },
    });
    // 20 ms are reserved for the way back. A request that needed much of that for its way there, on a busy machine, shows nothing.
    for (let tookMs = Infinity; tookMs > 10;) {
      attempt = { arrivedMs: 0, late: Promise.withResolvers<unknown>() };
      const beganMs = performance.now();
      // The response may be late too; the order of the two ends must not change.
      expect(['upstream_timeout', 'deadline_exceeded']).toContain(
        (await failureOf(client.echo(probe(''), context({ timeoutMs: 300 })))).reason,
      );
      tookMs = attempt.arrivedMs === 0 ? Infinity : attempt.arrivedMs - beganMs;
    }
    expect(await attempt.late.promise).toMatchObject({ message: 'tollgate.test.v1.ProbeService/Echo did not finish in time.' });
  });

  it('does not report as complete a stream that ended because its deadline passed', async () => {
    const client = await clientOf({
      async *count(_, callee) {
        yield probe('one');
        await new Promise((resolve) => callee!.signal.addEventListener('abort', resolve));
      },
    });
    const read = async (): Promise<void> => {
      for await (const __ of client.count(probe(''), context({ timeoutMs: 300 })));
    };
    expect(await failureOf(read())).toMatchObject({ reason: 'deadline_exceeded' });
  });

  it('does not begin work that cannot finish in time', async () => {
    let begun = false;
    const client = await clientOf({
      echo: async (request) => {
        begun = true;
        return request;
      },
    });
    expect(await failureOf(client.echo(probe(''), context({ timeoutMs: 15 })))).toMatchObject({ reason: 'deadline_exceeded' });
    expect(begun).toBe(false);
  });

  it('aborts a unary call that its caller cancels', async () => {
    const aborted = Promise.withResolvers<boolean>();
    const caller = new AbortController();
    const client = await clientOf({
      echo: (__, callee) =>
        new Promise(() => {
          callee!.signal.addEventListener('abort', () => aborted.resolve(true));
          caller.abort();
        }),
    });
    expect(await failureOf(client.echo(probe(''), context({ signal: caller.signal })))).toMatchObject({ reason: 'cancelled' });
    expect(await aborted.promise).toBe(true);
  });

  it('continues the trace of the caller, through streams too', async () => {
    const tracer = trace.getTracer('test');
    const client = await clientOf({
      echo: async (request) => {
        tracer.startSpan('inside echo').end();
        return request;
      },
      async *count() {
        yield probe('1');
        await new Promise((resolve) => setTimeout(resolve, 1));
        tracer.startSpan('inside count').end();
        yield probe('2');
      },
    });
    const root = await tracer.startActiveSpan('root', async (span) => {
      await client.echo(probe(''), context());
      // The consumer of a stream may continue in another trace's context; the producer stays in its own.
      for await (const _message of client.count(probe(''), context())) await tracer.startActiveSpan('consumer', async (each) => each.end());
      span.end();
      return span.spanContext();
    });
    // In one thread, a span of the client would repeat that of the service.
    const hasClientSpans = !name.includes('in one process');
    await untilTrue(() => traces.spans().length >= (hasClientSpans ? 9 : 7));
    const spanOf = (title: string, kind = SpanKind.INTERNAL) => traces.spans().find((span) => span.name === title && span.kind === kind)!;
    for (const [rpc, inside] of [
      ['tollgate.test.v1.ProbeService/Echo', 'inside echo'],
      ['tollgate.test.v1.ProbeService/Count', 'inside count'],
    ] as const) {
      const served = spanOf(rpc, SpanKind.SERVER);
      const sent = traces.spans().filter((span) => span.name === rpc && span.kind === SpanKind.CLIENT);
      expect(sent.map(({ parentSpanContext, attributes }) => [parentSpanContext?.spanId, attributes])).toEqual(
        hasClientSpans ? [[root.spanId, expect.objectContaining({ 'rpc.method': rpc, 'rpc.response.status_code': 'OK' })]] : [],
      );
      expect(served.parentSpanContext?.spanId).toBe(hasClientSpans ? sent[0]!.spanContext().spanId : root.spanId);
      expect(spanOf(inside).parentSpanContext?.spanId).toBe(served.spanContext().spanId);
      expect(served.attributes).toMatchObject({ 'rpc.response.status_code': 'OK', 'tollgate.caller': 'gateway' });
    }
    expect(new Set(traces.spans().map((span) => span.spanContext().traceId))).toEqual(new Set([root.traceId]));
  });

  it('passes the baggage of the caller on', async () => {
    const client = await clientOf({ echo: async () => probe(propagation.getActiveBaggage()?.getEntry('tenant')?.value ?? 'none') });
    const baggage = propagation.createBaggage({ tenant: { value: 'acme' } });
    const echoed = await active.with(propagation.setBaggage(ROOT_CONTEXT, baggage), () => client.echo(probe(''), context()));
    expect([echoed, await client.echo(probe(''), context())]).toEqual([probe('acme'), probe('none')]);
  });

  it('does not trace what a process of the installation does on its own initiative', async () => {
    const client = await clientOf({
      echo: async (request) => request,
      async *count() {
        yield probe('1');
      },
    });
    await client.echo(probe(''), context());
    for await (const _message of client.count(probe(''), context()));
    await untilStill(() => traces.spans().length);
    expect(traces.spans()).toEqual([]);
  });

  it('identifies its caller by the transport, not by the call', async () => {
    const client = await clientOf({ echo: async (__, callee) => probe(callee!.caller) }, 'metering');
    expect(await client.echo(probe(''), callContext({ caller: 'gateway' }))).toEqual(probe('metering'));
  });

  it('refuses callers without the grant', async () => {
    const client = await clientOf({}, 'metering');
    const read = async (): Promise<void> => {
      for await (const _message of client.count(probe(''), context())) throw new Error('no message was due');
    };
    expect(await failureOf(read())).toMatchObject({ reason: 'peer_not_permitted' });
  });

  it('lets the operator call everything', async () => {
    const client = await clientOf({ echo: async (request) => request }, 'operator');
    expect(await client.echo(probe('all'), context())).toEqual(probe('all'));
  });
});

describe.each(encodingTransports)('the messages of a service %s', (_, connect) => {
  let connection: Connection<ProbeService> | undefined;

  afterEach(() => connection?.close());

  async function clientOf(methods: Partial<ProbeService>): Promise<ProbeService> {
    connection = await connect(ProbeServiceDefinition, probeService(methods), 'gateway');
    return connection.client;
  }

  it('are not shared between the two sides', async () => {
    const kept = probe('kept', ['service']);
    const client = await clientOf({
      echo: async (request) => {
        request.parts.push('changed by the service');
        return kept;
      },
    });
    const request = probe('mine', ['caller']);
    const response = await client.echo(request, callContext({ caller: 'gateway' }));
    response.parts.push('changed by the caller');
    expect(request.parts).toEqual(['caller']);
    expect(kept.parts).toEqual(['service']);
  });
});

it('fails when a side changes a message that is frozen', async () => {
  const client = localClient(
    ProbeServiceDefinition,
    probeService({
      echo: async (request) => {
        request.parts.push('changed by the service');
        return request;
      },
    }),
    { caller: 'gateway', crossing: crossings.frozen },
  );
  expect(await failureOf(client.echo(probe('mine', ['caller']), callContext({ caller: 'gateway' })))).toMatchObject({ reason: 'internal' });
  const untouched = localClient(ProbeServiceDefinition, probeService({ echo: async (request) => request }), {
    caller: 'gateway',
    crossing: crossings.frozen,
  });
  const response = await untouched.echo(probe('mine', ['caller']), callContext({ caller: 'gateway' }));
  expect(() => response.parts.push('changed by the caller')).toThrow(TypeError);
});
