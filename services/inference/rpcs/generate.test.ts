import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { StopReason } from '#proto/inference/v1/inference.js';
import { startStubUpstream, type StubUpstream, stubApiKey } from '../../../tests/upstream/stub-upstream.js';
import { collect, eventsOf, finishedOf, localUpstream, summary, type TestInference } from '../testing/fixtures.js';
import { stubRequest, operator, startStubbed } from '../testing/stubbed.js';

let stub: StubUpstream;
let inference: TestInference;
let stop: () => Promise<void>;

async function start(): Promise<void> {
  ({ stub, inference, stop } = await startStubbed());
}

afterEach(() => stop());

describe.each(['cc', 'm'])('an answer of upstream %s', (upstreamId) => {
  beforeEach(() => start());

  it('arrives as text with the usage that the upstream reports', async () => {
    stub.script('x', {
      blocks: [{ type: 'text', text: 'Hello there.' }],
      usage: { input: 7, cacheRead: 3, cacheWrite5m: 2, output: 4, reasoning: 1 },
    });
    const messages = await collect(inference.service, stubRequest('x', upstreamId));
    expect(summary(eventsOf(messages))).toEqual(['started', '0:text', 'Hello there.', '0.', `finished ${StopReason.STOP_REASON_END}`]);
    expect(finishedOf(messages)).toMatchObject({
      usage: { inputTokens: 7, cacheReadTokens: 3, cacheWrite5mTokens: 2, cacheWrite1hTokens: 0, outputTokens: 4, reasoningTokens: 1 },
      usageReported: true,
      usageFault: '',
    });
    expect(messages.at(-1)!.usageSoFar).toEqual(finishedOf(messages).usage);
    expect(eventsOf(messages)[0]).toMatchObject({
      value: { target: { upstreamId }, upstreamRequestId: 'req_stub', upstreamReportedModel: 'x' },
    });
  });

  it('arrives with reasoning first, and with tool calls one after another', async () => {
    stub.script('x', {
      blocks: [
        { type: 'reasoning', text: 'Hm.', signature: 'c2ln' },
        { type: 'tool_call', id: 'a', name: 'f', arguments: '{"x":1}' },
        { type: 'tool_call', id: 'b', name: 'g', arguments: '' },
      ],
    });
    const words = summary(eventsOf(await collect(inference.service, stubRequest('x', upstreamId))));
    expect(words.filter((word) => !word.startsWith('signature='))).toEqual([
      'started',
      '0:reasoning',
      'Hm.',
      '0.',
      '1:toolCall(a,f)',
      '{"x":1}',
      '1.',
      '2:toolCall(b,g)',
      '{}',
      '2.',
      `finished ${StopReason.STOP_REASON_TOOL_CALLS}`,
    ]);
    expect(words.includes('signature=c2ln')).toBe(upstreamId === 'm');
  });

  it('is counted by us if the upstream reports no usage', async () => {
    stub.script('x', { blocks: [{ type: 'text', text: 'one two three four five' }], usage: 'none', rawUsage: undefined });
    const { usage, usageReported, usageFault } = finishedOf(await collect(inference.service, stubRequest('x', upstreamId)));
    expect({ usageReported, usageFault, output: usage?.outputTokens }).toEqual({
      usageReported: false,
      usageFault: upstreamId === 'm' ? 'input_zero' : '',
      output: 5,
    });
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
    await expect(collect(inference.service, stubRequest(model, upstreamId))).rejects.toMatchObject({ reason });
  });

  it.each([
    ['cut', 'upstream_failed'],
    ['reset', 'upstream_failed'],
    ['malformed-json', 'upstream_failed'],
    ['error-frame', 'upstream_overloaded'],
    ['huge-chunk', 'upstream_failed'],
  ])('delivers what arrived before it broke off: %s', async (model, reason) => {
    const delivered: string[] = [];
    const reading = (async () => {
      for await (const message of inference.service.generate(stubRequest(model, upstreamId), operator))
        delivered.push(...summary(eventsOf([message])));
    })();
    await expect(reading).rejects.toMatchObject({ reason });
    expect(delivered[0]).toBe('started');
    expect(delivered.some((word) => word.startsWith('finished'))).toBe(false);
  });

  it('is complete if it arrives byte by byte', async () => {
    expect(summary(eventsOf(await collect(inference.service, stubRequest('drip', upstreamId))))).toContain('Hello from the stub upstream.');
  });

  it('leaves its connection open for the next call', async () => {
    stub.script('x', { frameDelayMs: 5 });
    for (let calls = 1; ; calls += 1) {
      await collect(inference.service, stubRequest('x', upstreamId));
      if (stub.connectionsMade() < calls) break;
      expect(calls).toBeLessThan(10);
      // The end of the body arrives a moment after the last event, later on a busy machine.
      await new Promise((resolve) => setTimeout(resolve, 30 * calls));
    }
  });
});

describe('what callers see of a failure', () => {
  beforeEach(() => start());

  it('is the retry time, bounded', async () => {
    stub.script('x', { fault: { kind: 'status', status: 429, body: { error: { message: 'no' } }, headers: { 'retry-after': '7200' } } });
    await expect(collect(inference.service, stubRequest('x'))).rejects.toMatchObject({ retryAfterMs: 60_000 });
  });

  it("is the vendor's reason for refusing the request", async () => {
    await expect(collect(inference.service, stubRequest('status-400'))).rejects.toThrow('temperature: this model refuses it');
  });

  it('is neither a page of a proxy nor the state of our account', async () => {
    await expect(collect(inference.service, stubRequest('html-502'))).rejects.toThrow(/^The upstream failed to answer\.$/);
    await expect(collect(inference.service, stubRequest('status-401'))).rejects.toThrow(/^The upstream is not available at the moment\.$/);
  });

  it('goes to the log in full, but never with the secret', async () => {
    const leaky = { error: { type: 'authentication_error', message: `Incorrect API key provided: ${stubApiKey}` } };
    stub.script('x', { fault: { kind: 'status', status: 401, body: leaky } });
    stub.script('y', { fault: { kind: 'status', status: 400, body: leaky } });
    const rejected = await collect(inference.service, stubRequest('y')).catch((error: unknown) => String(error));
    await expect(collect(inference.service, stubRequest('x'))).rejects.toThrow();
    const printed = JSON.stringify(inference.lines);
    expect(printed).toContain('Incorrect API key provided');
    expect(printed).toContain('req_test');
    expect(`${printed}${String(rejected)}`).not.toContain(stubApiKey);
  });

  it('contains no secret in another form either, even if LiteLLM quotes the one that it refuses', async () => {
    const apiKey = 'Qm9vZ2llLXdvb2dpZQ/7f3a';
    const other = await startStubUpstream({ apiKey });
    try {
      await inference.service.putUpstream({ upstream: localUpstream(other.baseUrl, { id: 'proxy' }), secret: apiKey }, operator);
      const message = `LiteLLM Virtual Key expected. Received=${apiKey}, expected to start with 'sk-'.`;
      for (const status of [400, 401]) other.script(`x${status}`, { fault: { kind: 'status', status, body: { error: { message } } } });
      const shown = await Promise.all(
        [400, 401].map((status) => collect(inference.service, stubRequest(`x${status}`, 'proxy')).catch((error: unknown) => String(error))),
      );
      const printed = JSON.stringify(inference.lines);
      expect(printed).toContain('LiteLLM Virtual Key expected. Received=[redacted], expected');
      expect(`${printed}${shown.join()}`).not.toContain(apiKey);
    } finally {
      await other.stop();
    }
  });
});

describe('implausible usage', () => {
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
    const { usage, usageReported, usageFault } = finishedOf(await collect(inference.service, stubRequest('x')));
    expect({ usageReported, usageFault }).toEqual({ usageReported: false, usageFault: fault });
    expect(usage!.outputTokens).toBe(5);
    expect(usage!.inputTokens).toBeGreaterThan(0);
    expect(usage!.inputTokens).toBeLessThan(20);
    expect(inference.lines.some((line) => line['usage_fault'] === fault)).toBe(true);
  });
});
