// Answers that are requested whole: when, and within which limits.
import { afterEach, describe, expect, it } from '@jest/globals';
import type { StubUpstream } from '../../../tests/upstream/stub-upstream.js';
import type { InferenceConfig } from '../config.js';
import { collect, eventsOf, finishedOf, summary, type TestInference } from '../testing/fixtures.js';
import { stubRequest, operator, startStubbed } from '../testing/stubbed.js';

let stub: StubUpstream;
let inference: TestInference;
let stop: () => Promise<void>;

async function start(changes: Partial<InferenceConfig> = {}): Promise<void> {
  ({ stub, inference, stop } = await startStubbed(changes));
}

afterEach(() => stop());

const formats = ['cc', 'm'] as const;

describe.each(formats)('an answer of upstream %s', (format) => {
  const whole = `${format}-whole`;

  it('is requested whole if the upstream is configured so, the client does not stream, and the output cap is low, unless it may be hedged', async () => {
    await start();
    const cases: [string, { streaming?: boolean; hedgeAfterMs?: number; maxOutputTokens: number }, boolean][] = [
      [whole, { maxOutputTokens: 1024 }, true],
      [whole, { maxOutputTokens: 1025 }, false],
      [whole, { maxOutputTokens: 1024, streaming: true }, false],
      [whole, { maxOutputTokens: 1024, hedgeAfterMs: 60_000 }, false],
      [format, { maxOutputTokens: 1024 }, false],
    ];
    const answers = [];
    for (const [upstreamId, rest, isWhole] of cases) {
      answers.push(await collect(inference.service, stubRequest('reasoning-and-tool', upstreamId, rest)));
      const { body } = stub.requests.at(-1)!;
      expect([body['stream'], 'stream_options' in body]).toEqual(isWhole ? [undefined, false] : [true, format === 'cc']);
      expect(finishedOf(answers.at(-1)!)).toMatchObject({ usageReported: true, usageFault: '' });
      expect(summary(eventsOf(answers.at(-1)!))).toEqual(summary(eventsOf(answers[0]!)));
    }
    expect(answers[0]!.filter(({ accepted }) => accepted === undefined)).toHaveLength(1);
  });

  it('has the time limit of the first token, and the connection is closed at its end', async () => {
    await start({ firstTokenTimeoutMs: 300, idleTimeoutMs: 60_000 });
    for (const model of ['slow-headers', 'stall']) {
      await expect(collect(inference.service, stubRequest(model, whole))).rejects.toMatchObject({ reason: 'upstream_timeout' });
      expect(await stub.requests.at(-1)!.clientLeft).toBe(true);
    }
  });

  it('has the time limit of the call', async () => {
    await start({ totalTimeoutMs: 300 });
    await expect(collect(inference.service, stubRequest('stall', whole))).rejects.toMatchObject({ reason: 'upstream_timeout' });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it('is cancelled when its consumer disconnects', async () => {
    await start();
    const leaving = new AbortController();
    const answer = collect(inference.service, stubRequest('slow-headers', whole), leaving.signal);
    while (stub.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    leaving.abort();
    await expect(answer).rejects.toMatchObject({ reason: 'cancelled' });
    expect(await stub.requests[0]!.clientLeft).toBe(true);
  });

  it.each(['cut', 'reset'] as const)('is given by the next target if it breaks off (%s)', async (kind) => {
    await start();
    stub.script('breaks', { fault: { kind, afterBytes: 60 } });
    const targets = [
      { upstreamId: whole, upstreamModel: 'breaks' },
      { upstreamId: whole, upstreamModel: 'text' },
    ];
    const messages = await collect(inference.service, stubRequest('text', whole, { targets }));
    expect(messages.find(({ failedAttempt }) => failedAttempt !== undefined)).toMatchObject({
      failedAttempt: { reason: 'upstream_failed' },
    });
    expect(summary(eventsOf(messages)).join(' ')).toContain('Hello from the stub upstream.');
  });

  it('may be a stream anyway', async () => {
    await start();
    stub.script('stubborn', { blocks: [{ type: 'text', text: 'Hello.' }], alwaysStreams: true });
    const messages = await collect(inference.service, stubRequest('stubborn', whole));
    expect(summary(eventsOf(messages)).join(' ')).toContain('Hello.');
    expect(stub.requests[0]!.body['stream']).toBeUndefined();
  });
});

describe('the sandbox', () => {
  const wholeOf = (request: Parameters<typeof collect>[1]) => collect(inference.service, request);

  it('returns short answers whole if configured so', async () => {
    await start({ sandboxWholeAnswers: true });
    const request = stubRequest('story', 'sandbox', { maxOutputTokens: 50 });
    const messages = await wholeOf(request);
    expect(messages).toHaveLength(1);
    expect(finishedOf(messages)).toMatchObject({ usageReported: true, usage: { outputTokens: 50 } });
    expect((await wholeOf({ ...request, streaming: true })).length).toBeGreaterThan(1);
    expect((await wholeOf({ ...request, maxOutputTokens: 1500 })).length).toBeGreaterThan(1);
    await expect(wholeOf(stubRequest('drop', 'sandbox'))).rejects.toMatchObject({ reason: 'upstream_failed' });
    const { upstreams } = await inference.service.listUpstreams({}, operator);
    expect(upstreams.find(({ id }) => id === 'sandbox')).toMatchObject({ wholeAnswers: true });
  });

  it('has the time limit of the first token for them', async () => {
    await start({ sandboxWholeAnswers: true, firstTokenTimeoutMs: 100, sandboxTokenDelayMs: 20 });
    await expect(wholeOf(stubRequest('story', 'sandbox', { maxOutputTokens: 1000 }))).rejects.toMatchObject({ reason: 'upstream_timeout' });
  });
});
