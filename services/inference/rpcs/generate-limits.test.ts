import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Clock, ManualClock } from '#kit/clock.js';
import { untilTrue } from '#kit/testing/waiting.js';
import { ApiFormat, NativeRequest } from '#proto/inference/v1/inference.js';
import { type StubUpstream, stubApiKey } from '../../../tests/upstream/stub-upstream.js';
import type { InferenceConfig } from '../config.js';
import { collect, eventsOf, finishedOf, localUpstream, summary, type TestInference, textRequest } from '../testing/fixtures.js';
import { stubRequest, operator, startStubbed } from '../testing/stubbed.js';

let stub: StubUpstream;
let inference: TestInference;
let stop: () => Promise<void>;

async function start(changes: Partial<InferenceConfig> = {}, clock?: Clock): Promise<void> {
  ({ stub, inference, stop } = await startStubbed(changes, clock));
}

afterEach(() => stop());

describe('a call that takes too long', () => {
  it('ends if no first event arrives', async () => {
    await start({ firstTokenTimeoutMs: 400 });
    await expect(collect(inference.service, stubRequest('slow-headers'))).rejects.toMatchObject({ reason: 'upstream_timeout' });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it('ends when the upstream falls silent in the middle', async () => {
    await start({ idleTimeoutMs: 400 });
    await expect(collect(inference.service, stubRequest('stall'))).rejects.toMatchObject({ reason: 'upstream_timeout' });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it('ends after its total time, however active the upstream is', async () => {
    await start({ totalTimeoutMs: 600 });
    stub.script('x', { blocks: [{ type: 'text', text: 'x'.repeat(4000) }], deltaChars: 1, frameDelayMs: 5 });
    await expect(collect(inference.service, stubRequest('x'))).rejects.toMatchObject({ reason: 'upstream_timeout' });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it('does not end because its consumer is slow', async () => {
    await start({ idleTimeoutMs: 1500 });
    stub.script('x', { blocks: [{ type: 'text', text: 'x'.repeat(60) }], deltaChars: 1, frameDelayMs: 5 });
    const words: string[] = [];
    for await (const message of inference.service.generate(stubRequest('x'), operator)) {
      words.push(...summary(eventsOf([message])));
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
    expect(words.at(-1)).toMatch(/^finished/);
  });
});

describe('an upstream with limits of its own', () => {
  const limited = (limits: object, id = 'own') => ({
    upstream: localUpstream(stub.baseUrl, { id, limits }),
    secret: stubApiKey,
  });

  // Long enough for the call to reach the vendor on a busy machine.
  it.each([
    ['slow-headers', { firstTokenTimeoutMs: 1000 }],
    ['stall', { idleTimeoutMs: 1000 }],
    ['stall', { totalTimeoutMs: 1000 }],
  ])('ends a call that takes too long: %s, %p', async (model, limits) => {
    await start();
    await inference.service.putUpstream(limited(limits), operator);
    await expect(collect(inference.service, stubRequest(model, 'own', { streaming: true }))).rejects.toMatchObject({
      reason: 'upstream_timeout',
    });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it('may be slower than all others', async () => {
    await start({ firstTokenTimeoutMs: 100 });
    await inference.service.putUpstream(limited({ firstTokenTimeoutMs: 20_000 }), operator);
    stub.script('late', { blocks: [{ type: 'text', text: 'Hello.' }], fault: { kind: 'slow-headers', delayMs: 300 } });
    expect(finishedOf(await collect(inference.service, stubRequest('late', 'own'))).usageReported).toBe(true);
    await expect(collect(inference.service, stubRequest('late'))).rejects.toMatchObject({ reason: 'upstream_timeout' });
  });

  it('refuses calls beyond its limit, and a changed limit takes effect immediately', async () => {
    await start();
    await inference.service.putUpstream(limited({ callsMax: 1 }), operator);
    const over = new AbortController();
    const first = collect(inference.service, stubRequest('slow-headers', 'own'), over.signal).catch(() => undefined);
    await stub.nextRequest();
    await expect(collect(inference.service, stubRequest('text', 'own'))).rejects.toMatchObject({ reason: 'upstream_overloaded' });
    const { upstream } = await inference.service.putUpstream(limited({ callsMax: 2 }), operator);
    expect(upstream?.limits).toEqual({ callsMax: 2 });
    expect(finishedOf(await collect(inference.service, stubRequest('text', 'own'))).usageReported).toBe(true);
    over.abort();
    await first;
  });

  it('is passed over before its vendor refuses, by requests and by the tokens that were used', async () => {
    await start({ paceWaitMs: 0 });
    const usedOf = async (upstreamId: string, rest: Parameters<typeof stubRequest>[2] = {}): Promise<string | undefined> => {
      const events = eventsOf(await collect(inference.service, stubRequest('text', upstreamId, rest)));
      return events.map((event) => (event.$case === 'started' ? event.value.target?.upstreamId : undefined)).find((id) => id !== undefined);
    };
    const either = { targets: ['own', 'cc'].map((upstreamId) => ({ upstreamId, upstreamModel: 'text' })) };
    await inference.service.putUpstream(limited({ requestsPerMinute: 2 }), operator);
    expect([await usedOf('own', either), await usedOf('own', either), await usedOf('own', either)]).toEqual(['own', 'own', 'cc']);
    await expect(usedOf('own')).rejects.toMatchObject({ reason: 'upstream_rate_limited', retryAfterMs: expect.any(Number) });
    // Another credential has its own allowance.
    await inference.service.putCredential({ upstreamId: 'own', credentialId: 'second', secret: stubApiKey }, operator);
    expect([await usedOf('own', either), await usedOf('own', either), await usedOf('own', either)]).toEqual(['own', 'own', 'cc']);

    stub.script('text', { blocks: [{ type: 'text', text: 'Hello.' }], usage: { input: 190, output: 20 } });
    await inference.service.putUpstream(limited({ tokensPerMinute: 220 }, 'small'), operator);
    const counted = { targets: ['small', 'cc'].map((upstreamId) => ({ upstreamId, upstreamModel: 'text' })), inputTokensMax: 200 };
    expect([await usedOf('small', counted), await usedOf('small', counted)]).toEqual(['small', 'cc']);
  });

  it('counts requests and tokens only of calls that are sent, not of those beyond its number of calls', async () => {
    await start({ paceWaitMs: 0 });
    await inference.service.putUpstream(limited({ callsMax: 1, requestsPerMinute: 2, tokensPerMinute: 300 }), operator);
    const call = (model: string, signal?: AbortSignal) =>
      collect(inference.service, stubRequest(model, 'own', { inputTokensMax: 400 }), signal);
    const over = new AbortController();
    const first = call('slow-headers', over.signal).catch(() => undefined);
    await stub.nextRequest();
    for (let count = 0; count < 3; count += 1) await expect(call('text')).rejects.toMatchObject({ reason: 'upstream_overloaded' });
    over.abort();
    await first;
    expect(finishedOf(await call('text')).usageReported).toBe(true);
  });

  it('does not count requests while no connection to it can be made', async () => {
    await start({ paceWaitMs: 0, retryPauseMs: 1 });
    const { upstream, secret } = limited({ requestsPerMinute: 1 });
    await inference.service.putUpstream({ upstream: { ...upstream, baseUrl: 'http://127.0.0.1:1/v1' }, secret }, operator);
    const call = () => collect(inference.service, stubRequest('text', 'own'));
    for (let count = 0; count < 2; count += 1) await expect(call()).rejects.toMatchObject({ reason: 'upstream_unavailable' });
    await inference.service.putUpstream({ upstream, secret }, operator);
    expect(finishedOf(await call()).usageReported).toBe(true);
    await expect(call()).rejects.toMatchObject({ reason: 'upstream_rate_limited' });
  });

  it('is waited for if its allowance is used up only for a short time', async () => {
    const clock = new ManualClock();
    await start({}, clock);
    await inference.service.putUpstream(limited({ requestsPerMinute: 1 }), operator);
    await collect(inference.service, stubRequest('text', 'own'));
    await expect(collect(inference.service, stubRequest('text', 'own'))).rejects.toMatchObject({ reason: 'upstream_rate_limited' });
    clock.advance(60_000);
    const waiting = collect(inference.service, stubRequest('text', 'own'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(stub.requests).toHaveLength(1);
    clock.advance(1000);
    const messages = await waiting;
    expect(messages.flatMap(({ waits }) => (waits === undefined ? [] : [waits]))).toEqual([true, false]);
    expect(finishedOf(messages).usageReported).toBe(true);
  });

  it('is not waited for beyond the setting, even if its allowance is back soon', async () => {
    const clock = new ManualClock();
    await start({ paceWaitMs: 0 }, clock);
    await inference.service.putUpstream(limited({ requestsPerMinute: 1 }), operator);
    await collect(inference.service, stubRequest('text', 'own'));
    clock.advance(60_000);
    const failed: unknown[] = [];
    const call = async (): Promise<void> => {
      for await (const { failedAttempt } of inference.service.generate(stubRequest('text', 'own'), operator))
        failed.push(failedAttempt?.reason);
    };
    await expect(call()).rejects.toMatchObject({ reason: 'upstream_rate_limited', retryAfterMs: 500 });
    expect(failed).toEqual(['upstream_rate_limited']);
  });

  it('rejects limits out of range', async () => {
    await start();
    await expect(inference.service.putUpstream(limited({ idleTimeoutMs: 1 }), operator)).rejects.toMatchObject({
      reason: 'invalid_request',
      message: expect.stringContaining('upstream.limits.idle_timeout_ms'),
    });
  });
});

describe('a consumer that disconnects', () => {
  beforeEach(() => start());

  it.each(['cc', 'm'])('between messages closes the connection to upstream %s', async (upstreamId) => {
    for await (const message of inference.service.generate(stubRequest('stall', upstreamId), operator)) {
      if (message.accepted !== undefined) continue;
      expect(message.events.length).toBeGreaterThan(0);
      break;
    }
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it('while we wait for the upstream closes the connection too', async () => {
    const leaving = new AbortController();
    const reading = collect(inference.service, stubRequest('stall'), leaving.signal);
    await untilTrue(() => stub.requests.length > 0);
    setTimeout(() => leaving.abort(), 50);
    await expect(reading).rejects.toMatchObject({ reason: 'cancelled' });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it('before the upstream has answered closes the connection too', async () => {
    const leaving = new AbortController();
    const reading = collect(inference.service, stubRequest('slow-headers'), leaving.signal);
    await untilTrue(() => stub.requests.length > 0);
    setTimeout(() => leaving.abort(), 50);
    await expect(reading).rejects.toMatchObject({ reason: 'cancelled' });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });
});

describe('a consumer that is slow', () => {
  it('pauses the reading from the upstream, so that the upstream cannot run ahead', async () => {
    await start();
    stub.script('x', { blocks: [{ type: 'text', text: 'x'.repeat(24 << 20) }], deltaChars: 1 << 16 });
    const stream = inference.service.generate(stubRequest('x', 'cc', { maxOutputTokens: 10_000_000 }), operator)[Symbol.asyncIterator]();
    await stream.next();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const left = await Promise.race([
      stub.requests[0]!.clientLeft.then(() => 'answer sent'),
      new Promise((resolve) => setTimeout(() => resolve('waiting for us'), 100)),
    ]);
    expect(left).toBe('waiting for us');
    await stream.return?.();
  });
});

describe('several targets', () => {
  const both = (first: string, second: string) => ({
    targets: [
      { upstreamId: 'cc', upstreamModel: first },
      { upstreamId: 'm', upstreamModel: second },
    ],
  });

  beforeEach(() => start());

  it.each(['status-401', 'status-429', 'status-500', 'html-502', 'json-page'])(
    'the next is tried when one fails before its first event: %s',
    async (model) => {
      const messages = await collect(inference.service, textRequest('Hi', both(model, 'text')));
      expect(eventsOf(messages)[0]).toMatchObject({ value: { target: { upstreamId: 'm' } } });
      expect(finishedOf(messages).usageReported).toBe(true);
    },
  );

  it('the next is not tried when the request itself is refused', async () => {
    await expect(collect(inference.service, textRequest('Hi', both('status-400', 'text')))).rejects.toMatchObject({
      reason: 'upstream_rejected',
    });
    expect(stub.requests).toHaveLength(1);
  });

  it('the next is not tried once the answer has begun', async () => {
    const request = textRequest('Hi', { ...both('reset', 'text'), streaming: true });
    await expect(collect(inference.service, request)).rejects.toMatchObject({ reason: 'upstream_failed' });
    expect(stub.requests).toHaveLength(1);
  });

  it('the caller sees the last failure', async () => {
    await expect(collect(inference.service, textRequest('Hi', both('status-500', 'status-429')))).rejects.toMatchObject({
      reason: 'upstream_rate_limited',
    });
  });

  it('the caller sees the failure of a target that can honour the request, not that the next one cannot', async () => {
    const native = NativeRequest.fromPartial({
      format: ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
      fieldsJson: '{"messages":[{"role":"user","content":"Hi"}]}',
      refusedElsewhere: [{ field: 'n', text: 'is not known here' }],
    });
    const request = textRequest('Hi', { ...both('status-503', 'text'), native });
    await expect(collect(inference.service, request)).rejects.toMatchObject({ reason: 'upstream_overloaded' });
    const refused = textRequest('Hi', { targets: both('text', 'text').targets.slice(1), native });
    await expect(collect(inference.service, refused)).rejects.toMatchObject({ reason: 'unsupported_field' });
  });

  it('unknown or disabled ones are skipped, and if none is left the model is unavailable', async () => {
    const targets = [
      { upstreamId: 'gone', upstreamModel: 'x' },
      { upstreamId: 'cc', upstreamModel: 'text' },
    ];
    expect(finishedOf(await collect(inference.service, textRequest('Hi', { targets }))).usageReported).toBe(true);
    await expect(collect(inference.service, textRequest('Hi', { targets: targets.slice(0, 1) }))).rejects.toMatchObject({
      reason: 'model_unavailable',
    });
  });
});

describe('limits', () => {
  it('on calls in flight with one upstream refuse the next call', async () => {
    await start({ connectionsMax: 1 });
    const first = inference.service.generate(stubRequest('stall'), operator)[Symbol.asyncIterator]();
    await first.next();
    const refused = {
      reason: 'upstream_overloaded',
      message: expect.stringContaining('maximum number of calls in flight'),
      retryAfterMs: 1000,
    };
    // Neither a failure of the upstream, which would be retried after a pause and ejected, nor one of the gateway.
    for (let count = 0; count < 10; count += 1)
      await expect(collect(inference.service, stubRequest('text'))).rejects.toMatchObject(refused);
    expect((await inference.service.listTargetHealth({}, operator)).targets).toEqual([]);
    await first.return?.();
    expect(finishedOf(await collect(inference.service, stubRequest('text'))).usageReported).toBe(true);
  });

  it('on the whole answer and the header end the call', async () => {
    await start({ responseBytesMax: 2000, headerBytesMax: 2000 });
    stub.script('x', { blocks: [{ type: 'text', text: 'x'.repeat(5000) }] });
    await expect(collect(inference.service, stubRequest('x'))).rejects.toThrow('beyond the size limit');
    stub.script('y', { fault: { kind: 'huge-header', bytes: 4000 } });
    await expect(collect(inference.service, stubRequest('y'))).rejects.toThrow('header beyond the size limit');
  });
});
