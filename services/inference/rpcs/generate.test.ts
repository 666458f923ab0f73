import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { callContext } from '#kit/rpc/call-context.js';
import { type InferenceService, StopReason, WireFormat } from '#proto/inference/v1/inference.js';
import { type StubUpstream, startStubUpstream, stubApiKey } from '../../../tests/upstream/stub-upstream.js';
import type { InferenceConfig } from '../config.js';
import { collect, eventsOf, finishedOf, startInference, summary, type TestInference, textRequest } from '../testing/fixtures.js';

const operator = callContext({ caller: 'operator' });

let stub: StubUpstream;
let inference: TestInference;

async function start(changes: Partial<InferenceConfig> = {}): Promise<void> {
  inference = await startInference(changes);
  await put(inference.service, 'cc', WireFormat.WIRE_FORMAT_CHAT_COMPLETIONS, stub.baseUrl);
  await put(inference.service, 'm', WireFormat.WIRE_FORMAT_MESSAGES, stub.baseUrl);
}

async function put(service: InferenceService, id: string, wireFormat: WireFormat, baseUrl: string): Promise<void> {
  const upstream = { id, wireFormat, baseUrl, secretLastFour: '', allowPrivateNetwork: true, enabled: true, managed: false, createdAtMs: 0n };
  await service.putUpstream({ upstream, secret: stubApiKey }, operator);
}

const ask = (model: string, upstreamId = 'cc', rest: Parameters<typeof textRequest>[1] = {}) =>
  textRequest('Say hello.', { targets: [{ upstreamId, upstreamModel: model }], ...rest });

beforeEach(async () => {
  stub = await startStubUpstream();
});

afterEach(async () => {
  await inference.stop();
  await stub.stop();
});

describe.each(['cc', 'm'])('an answer of upstream %s', (upstreamId) => {
  beforeEach(() => start());

  it('arrives as text with the usage that the upstream reports', async () => {
    stub.script('x', { blocks: [{ type: 'text', text: 'Hello there.' }], usage: { input: 7, cacheRead: 3, cacheWrite5m: 2, output: 4, reasoning: 1 } });
    const messages = await collect(inference.service, ask('x', upstreamId));
    expect(summary(eventsOf(messages))).toEqual(['started', '0:text', 'Hello there.', '0.', `finished ${StopReason.STOP_REASON_END}`]);
    expect(finishedOf(messages)).toMatchObject({
      usage: { inputTokens: 7, cacheReadTokens: 3, cacheWrite5mTokens: 2, cacheWrite1hTokens: 0, outputTokens: 4, reasoningTokens: 1 },
      usageReported: true,
      usageFault: '',
    });
    expect(messages.at(-1)!.usageSoFar).toEqual(finishedOf(messages).usage);
    expect(eventsOf(messages)[0]).toMatchObject({ value: { target: { upstreamId }, upstreamRequestId: 'req_stub', upstreamReportedModel: 'x' } });
  });

  it('arrives with reasoning first, and with tool calls one after another', async () => {
    stub.script('x', {
      blocks: [
        { type: 'reasoning', text: 'Hm.', signature: 'c2ln' },
        { type: 'tool_call', id: 'a', name: 'f', arguments: '{"x":1}' },
        { type: 'tool_call', id: 'b', name: 'g', arguments: '' },
      ],
    });
    const words = summary(eventsOf(await collect(inference.service, ask('x', upstreamId))));
    expect(words.filter((word) => !word.startsWith('signature='))).toEqual([
      'started',
      '0:reasoning', 'Hm.', '0.',
      '1:toolCall(a,f)', '{"x":1}', '1.',
      '2:toolCall(b,g)', '{}', '2.',
      `finished ${StopReason.STOP_REASON_TOOL_CALLS}`,
    ]);
    expect(words.includes('signature=c2ln')).toBe(upstreamId === 'm');
  });

  it('is counted by us when the upstream reports no usage', async () => {
    stub.script('x', { blocks: [{ type: 'text', text: 'one two three four five' }], usage: 'none', rawUsage: undefined });
    const { usage, usageReported, usageFault } = finishedOf(await collect(inference.service, ask('x', upstreamId)));
    expect({ usageReported, usageFault, output: usage?.outputTokens }).toEqual({ usageReported: false, usageFault: upstreamId === 'm' ? 'input_zero' : '', output: 5 });
    expect(usage?.inputTokens).toBeGreaterThan(3);
  });

  it.each([
    ['status-401', 'upstream_unavailable'],
    ['no-quota', 'upstream_unavailable'],
    ['status-400', 'upstream_rejected'],
    ['status-429', 'upstream_rate_limited'],
    ['status-529', 'upstream_overloaded'],
    ['status-500', 'upstream_failed'],
    ['html-502', 'upstream_failed'],
    ['json-page', 'upstream_failed'],
  ])('fails before it begins: %s', async (model, reason) => {
    await expect(collect(inference.service, ask(model, upstreamId))).rejects.toMatchObject({ reason });
  });

  it.each([
    ['cut', 'upstream_failed'],
    ['reset', 'upstream_failed'],
    ['malformed-json', 'upstream_failed'],
    ['error-frame', 'upstream_overloaded'],
    ['huge-chunk', 'upstream_failed'],
  ])('delivers what came before it broke: %s', async (model, reason) => {
    const delivered: string[] = [];
    const reading = (async () => {
      for await (const message of inference.service.generate(ask(model, upstreamId), operator)) delivered.push(...summary(eventsOf([message])));
    })();
    await expect(reading).rejects.toMatchObject({ reason });
    expect(delivered[0]).toBe('started');
    expect(delivered.some((word) => word.startsWith('finished'))).toBe(false);
  });

  it('is whole when it comes byte by byte', async () => {
    expect(summary(eventsOf(await collect(inference.service, ask('drip', upstreamId))))).toContain('Hello from the stub upstream.');
  });

  it('leaves its connection for the next one', async () => {
    stub.script('x', { frameDelayMs: 5 });
    for (let call = 0; call < 3; call += 1) {
      await collect(inference.service, ask('x', upstreamId));
      // The end of the body comes a moment after the last event.
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    expect(stub.connectionsMade()).toBe(1);
  });
});

describe('what callers are told of a failure', () => {
  beforeEach(() => start());

  it('is the retry time, bounded', async () => {
    stub.script('x', { fault: { kind: 'status', status: 429, body: { error: { message: 'no' } }, headers: { 'retry-after': '7200' } } });
    await expect(collect(inference.service, ask('x'))).rejects.toMatchObject({ retryAfterMs: 60_000 });
  });

  it("is the vendor's reason for refusing the request", async () => {
    await expect(collect(inference.service, ask('status-400'))).rejects.toThrow('temperature: this model refuses it');
  });

  it('is neither a page of a proxy nor the state of our account', async () => {
    await expect(collect(inference.service, ask('html-502'))).rejects.toThrow(/^The upstream failed to answer\.$/);
    await expect(collect(inference.service, ask('status-401'))).rejects.toThrow(/^The upstream is not available at the moment\.$/);
  });

  it('goes to the log in full, but never with the secret', async () => {
    const leaky = { error: { type: 'authentication_error', message: `Incorrect API key provided: ${stubApiKey}` } };
    stub.script('x', { fault: { kind: 'status', status: 401, body: leaky } });
    stub.script('y', { fault: { kind: 'status', status: 400, body: leaky } });
    const rejected = await collect(inference.service, ask('y')).catch((error: unknown) => String(error));
    await expect(collect(inference.service, ask('x'))).rejects.toThrow();
    const printed = JSON.stringify(inference.lines);
    expect(printed).toContain('Incorrect API key provided');
    expect(printed).toContain('req_test');
    expect(`${printed}${String(rejected)}`).not.toContain(stubApiKey);
  });
});

describe('usage that cannot be true', () => {
  beforeEach(() => start());

  it.each([
    [{ prompt_tokens: -5, completion_tokens: 5 }, 'not_a_count'],
    [{ prompt_tokens: 5.5, completion_tokens: 5 }, 'not_a_count'],
    [{ prompt_tokens: '5', completion_tokens: 5 }, 'not_a_count'],
    [{ prompt_tokens: 5, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 6 } }, 'cached_above_input'],
    [{ prompt_tokens: 0, completion_tokens: 5 }, 'input_zero'],
    [{ prompt_tokens: 5_000_000, completion_tokens: 5 }, 'input_above_bound'],
    [{ prompt_tokens: 5, completion_tokens: 1001 }, 'output_above_cap'],
    [{ prompt_tokens: 5, completion_tokens: 0 }, 'output_zero'],
    [{ prompt_tokens: 5, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 6 } }, 'reasoning_above_output'],
  ])('is replaced by our own count and named: %j', async (rawUsage, fault) => {
    stub.script('x', { blocks: [{ type: 'text', text: 'one two three four five' }], rawUsage });
    const { usage, usageReported, usageFault } = finishedOf(await collect(inference.service, ask('x')));
    expect({ usageReported, usageFault }).toEqual({ usageReported: false, usageFault: fault });
    expect(usage!.outputTokens).toBe(5);
    expect(usage!.inputTokens).toBeGreaterThan(0);
    expect(usage!.inputTokens).toBeLessThan(20);
    expect(inference.lines.some((line) => line['usage_fault'] === fault)).toBe(true);
  });
});

describe('a call that takes too long', () => {
  it('ends when no event comes at first', async () => {
    await start({ firstTokenTimeoutMs: 60 });
    await expect(collect(inference.service, ask('slow-headers'))).rejects.toMatchObject({ reason: 'upstream_timeout' });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it('ends when the upstream falls silent in the middle', async () => {
    await start({ idleTimeoutMs: 60 });
    await expect(collect(inference.service, ask('stall'))).rejects.toMatchObject({ reason: 'upstream_timeout' });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it('ends after its whole time, however lively the upstream is', async () => {
    await start({ totalTimeoutMs: 150 });
    stub.script('x', { blocks: [{ type: 'text', text: 'x'.repeat(4000) }], deltaChars: 1, frameDelayMs: 5 });
    await expect(collect(inference.service, ask('x'))).rejects.toMatchObject({ reason: 'upstream_timeout' });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it('does not end because its consumer is slow', async () => {
    await start({ idleTimeoutMs: 40 });
    stub.script('x', { blocks: [{ type: 'text', text: 'x'.repeat(60) }], deltaChars: 1, frameDelayMs: 5 });
    const words: string[] = [];
    for await (const message of inference.service.generate(ask('x'), operator)) {
      words.push(...summary(eventsOf([message])));
      await new Promise((resolve) => setTimeout(resolve, 80));
    }
    expect(words.at(-1)).toMatch(/^finished/);
  });
});

describe('a consumer that leaves', () => {
  beforeEach(() => start());

  it.each(['cc', 'm'])('between messages closes the connection to upstream %s', async (upstreamId) => {
    for await (const message of inference.service.generate(ask('stall', upstreamId), operator)) {
      expect(message.events.length).toBeGreaterThan(0);
      break;
    }
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it('while we wait for the upstream closes the connection too', async () => {
    const leaving = new AbortController();
    const reading = collect(inference.service, ask('stall'), leaving.signal);
    setTimeout(() => leaving.abort(), 50);
    await expect(reading).rejects.toMatchObject({ reason: 'cancelled' });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it('before the upstream has answered closes the connection too', async () => {
    const leaving = new AbortController();
    const reading = collect(inference.service, ask('slow-headers'), leaving.signal);
    setTimeout(() => leaving.abort(), 50);
    await expect(reading).rejects.toMatchObject({ reason: 'cancelled' });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });
});

describe('a consumer that is slow', () => {
  it('makes us stop reading, so that the upstream cannot run ahead', async () => {
    await start();
    stub.script('x', { blocks: [{ type: 'text', text: 'x'.repeat(24 << 20) }], deltaChars: 1 << 16 });
    const stream = inference.service.generate(ask('x', 'cc', { maxOutputTokens: 10_000_000 }), operator)[Symbol.asyncIterator]();
    await stream.next();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const left = await Promise.race([stub.requests[0]!.clientLeft.then(() => 'answer sent'), new Promise((resolve) => setTimeout(() => resolve('waiting for us'), 100))]);
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

  it.each(['status-401', 'status-429', 'status-500', 'html-502', 'json-page'])('the next is tried when one fails before its first event: %s', async (model) => {
    const messages = await collect(inference.service, textRequest('Hi', both(model, 'text')));
    expect(eventsOf(messages)[0]).toMatchObject({ value: { target: { upstreamId: 'm' } } });
    expect(finishedOf(messages).usageReported).toBe(true);
  });

  it('the next is not tried when the request itself is refused', async () => {
    await expect(collect(inference.service, textRequest('Hi', both('status-400', 'text')))).rejects.toMatchObject({ reason: 'upstream_rejected' });
    expect(stub.requests).toHaveLength(1);
  });

  it('the next is not tried once the answer has begun', async () => {
    await expect(collect(inference.service, textRequest('Hi', both('reset', 'text')))).rejects.toMatchObject({ reason: 'upstream_failed' });
    expect(stub.requests).toHaveLength(1);
  });

  it('the last failure is what the caller sees', async () => {
    await expect(collect(inference.service, textRequest('Hi', both('status-500', 'status-429')))).rejects.toMatchObject({ reason: 'upstream_rate_limited' });
  });

  it('ones that are unknown or disabled are passed over, and without any left the model is unavailable', async () => {
    const targets = [{ upstreamId: 'gone', upstreamModel: 'x' }, { upstreamId: 'cc', upstreamModel: 'text' }];
    expect(finishedOf(await collect(inference.service, textRequest('Hi', { targets }))).usageReported).toBe(true);
    await expect(collect(inference.service, textRequest('Hi', { targets: targets.slice(0, 1) }))).rejects.toMatchObject({ reason: 'model_unavailable' });
  });
});

describe('limits', () => {
  it('of calls under way with one upstream refuse the next call', async () => {
    await start({ connectionsMax: 1 });
    const first = inference.service.generate(ask('stall'), operator)[Symbol.asyncIterator]();
    await first.next();
    await expect(collect(inference.service, ask('text'))).rejects.toMatchObject({ reason: 'overloaded' });
    await first.return?.();
    expect(finishedOf(await collect(inference.service, ask('text'))).usageReported).toBe(true);
  });

  it('of the whole answer and of the header end the call', async () => {
    await start({ responseBytesMax: 2000, headerBytesMax: 2000 });
    stub.script('x', { blocks: [{ type: 'text', text: 'x'.repeat(5000) }] });
    await expect(collect(inference.service, ask('x'))).rejects.toThrow('beyond the size limit');
    stub.script('y', { fault: { kind: 'huge-header', bytes: 4000 } });
    await expect(collect(inference.service, ask('y'))).rejects.toThrow('header beyond the size limit');
  });
});
