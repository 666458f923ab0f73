import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { callContext } from '#client/call-context.js';
import { GenerateRequest, Prompt, Role, StopReason, ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import { collect, eventsOf, finishedOf, startInference, summary, type TestInference, textRequest } from '../../testing/fixtures.js';
import { inputTokensMax, overheadTokensMax } from '../../tokens/prompt-text.js';
import { countSandboxInput, sandboxOverhead, splitTokens } from './tokens.js';

const gateway = callContext({ caller: 'gateway' });

let inference: TestInference;

beforeAll(async () => {
  inference = await startInference({ idleTimeoutMs: 60 });
});

afterAll(() => inference.stop());

const stubRequest = (model: string, text: string, rest: Parameters<typeof textRequest>[1] = {}) =>
  textRequest(text, { targets: [{ upstreamId: 'sandbox', upstreamModel: model }], ...rest });
const answer = (request: GenerateRequest) => collect(inference.service, request);
const wordsOf = async (request: GenerateRequest) => summary(eventsOf(await answer(request)));
const tokensOf = (text: string) => splitTokens(text, Number.MAX_SAFE_INTEGER).length;

describe('sandbox tokens', () => {
  it.each([
    ['', 0],
    ['Hello', 1],
    ['Hello world', 2],
    ['Hello  world', 3],
    ['Hello, world!', 4],
    ['a-b', 3],
    ['x'.repeat(33), 3],
    ['Grüße 42', 2],
    ['👋🏽', 2],
    ['\n\n', 2],
  ])('of %j are %i', (text, tokens) => {
    expect(tokensOf(text)).toBe(tokens);
  });

  it('join to the text again, and are never more than its bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const tokens = splitTokens(text, Number.MAX_SAFE_INTEGER);
        expect(tokens.join('')).toBe(text);
        expect(tokens.length).toBeLessThanOrEqual(Buffer.byteLength(text));
      }),
    );
  });

  it('of a prompt stay below the bound that the hold is based on', async () => {
    expect(sandboxOverhead.message).toBeLessThanOrEqual(overheadTokensMax.message);
    const texts = fc.array(fc.string({ unit: 'binary', maxLength: 40 }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(texts, texts, texts, async (system, userTexts, toolNames) => {
        const messages = userTexts.map((text) => ({
          role: Role.ROLE_USER,
          parts: [{ part: { $case: 'text' as const, value: { text } } }],
        }));
        const prompt = Prompt.fromPartial({
          system,
          messages,
          tools: toolNames.map((name) => ({ name, description: name, parametersJson: name })),
        });
        expect(await countSandboxInput(prompt)).toBeLessThanOrEqual(inputTokensMax(prompt));
      }),
    );
  });
});

describe('echo', () => {
  it('answers with the text of the last user message, one token per event', async () => {
    const messages = await answer(stubRequest('echo', 'Tell me, please.'));
    expect(summary(eventsOf(messages))).toEqual(['started', '0:text', 'Tell me, please.', '0.', `finished ${StopReason.STOP_REASON_END}`]);
    expect(eventsOf(messages).filter(({ $case }) => $case === 'blockDelta')).toHaveLength(5);
  });

  it('is billed exactly: what CountTokens returns, and one token per event', async () => {
    const request = stubRequest('echo', 'Tell me, please.', {
      prompt: { ...stubRequest('echo', 'Tell me, please.').prompt, system: ['Be brief.'] },
    });
    const { inputTokens, estimated } = await inference.service.countTokens(
      {
        targets: request.targets,
        prompt: request.prompt,
        reasoning: undefined,
        messagesVersion: '',
        native: undefined,
        responseFormat: undefined,
      },
      gateway,
    );
    expect({ inputTokens, estimated }).toEqual({ inputTokens: 5 + 3 + 4, estimated: false });
    expect(finishedOf(await answer(request))).toMatchObject({ usage: { inputTokens, outputTokens: 5 }, usageReported: true });
  });

  it('ends at the cap and before a stop sequence, and bills what it sent', async () => {
    const capped = await answer(stubRequest('echo', 'one two three four', { maxOutputTokens: 2 }));
    expect(summary(eventsOf(capped)).slice(2)).toEqual(['one two', '0.', `finished ${StopReason.STOP_REASON_MAX_TOKENS}`]);
    const stopped = await answer(stubRequest('echo', 'one two three four', { stopSequences: ['four', 'ree'] }));
    expect(summary(eventsOf(stopped)).slice(2)).toEqual(['one two th', '0.', `finished ${StopReason.STOP_REASON_STOP_SEQUENCE}ree`]);
    expect([capped, stopped].map((messages) => finishedOf(messages).usage!.outputTokens)).toEqual([2, 3]);
  });

  it('refuses a prompt beyond its context', async () => {
    expect(finishedOf(await answer(stubRequest('echo', '!'.repeat(32_764)))).usage!.inputTokens).toBe(32_768);
    await expect(answer(stubRequest('echo', '!'.repeat(32_765)))).rejects.toMatchObject({ reason: 'context_length_exceeded' });
  });

  it('sends nothing if no output is requested', async () => {
    expect(await wordsOf(stubRequest('echo', 'Hi', { maxOutputTokens: 0 }))).toEqual([
      'started',
      `finished ${StopReason.STOP_REASON_MAX_TOKENS}`,
    ]);
  });
});

describe('story', () => {
  it('is always the same, with the requested length', async () => {
    const [once, again] = [await answer(stubRequest('story', 'tokens=500')), await answer(stubRequest('story', 'tokens=500'))];
    expect(eventsOf(once)).toEqual(eventsOf(again));
    expect(finishedOf(once)).toMatchObject({ stopReason: StopReason.STOP_REASON_END, usage: { outputTokens: 500 } });
  });

  it('is as long as the cap allows, up to 2000 tokens', async () => {
    expect(finishedOf(await answer(stubRequest('story', 'Go', { maxOutputTokens: 70 })))).toMatchObject({
      stopReason: StopReason.STOP_REASON_MAX_TOKENS,
      usage: { outputTokens: 70 },
    });
    expect(finishedOf(await answer(stubRequest('story', 'Go', { maxOutputTokens: 9000 })))).toMatchObject({
      stopReason: StopReason.STOP_REASON_END,
      usage: { outputTokens: 2000 },
    });
  });

  it('reports its running usage, in messages between which a consumer can disconnect', async () => {
    const messages = await answer(stubRequest('story', 'tokens=100'));
    expect(messages.length).toBeGreaterThan(5);
    const counted = messages.map((_, index) =>
      tokensOf(
        eventsOf(messages.slice(0, index + 1))
          .map((event) => (event.$case === 'blockDelta' ? event.value.delta!.value : ''))
          .join(''),
      ),
    );
    expect(messages.map(({ usageSoFar }) => usageSoFar!.outputTokens)).toEqual(counted);
  });

  it('takes its time on request, one token per message', async () => {
    const startedAt = performance.now();
    const messages = await answer(stubRequest('story', 'delay=5ms tokens=10'));
    expect(performance.now() - startedAt).toBeGreaterThan(45);
    expect(messages.length).toBeGreaterThanOrEqual(11);
  });
});

describe('tool', () => {
  const tool = {
    name: 'search',
    parametersJson: JSON.stringify({
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'integer' }, sort: { enum: ['new'] } },
    }),
  };
  const withTools = (rest: Record<string, unknown> = {}) =>
    stubRequest('tool', 'Find 3 cats', {
      prompt: { ...stubRequest('tool', 'Find 3 cats').prompt, tools: [tool, { name: 'other' }], ...rest },
    });
  const callOf = async (request: GenerateRequest) => (await wordsOf(request)).slice(1, 3).map((word) => word.replace(/call_\w+/, 'id'));

  it('calls the first tool offered, with arguments that fit its schema', async () => {
    expect(await callOf(withTools())).toEqual(['0:toolCall(id,search)', '{"query":"Find 3 cats","limit":3,"sort":"new"}']);
    expect(finishedOf(await answer(withTools())).stopReason).toBe(StopReason.STOP_REASON_TOOL_CALLS);
  });

  it('calls the named tool, and none if none is allowed', async () => {
    expect(await callOf(withTools({ toolChoice: { mode: ToolChoice_Mode.MODE_NAMED, name: 'other' } }))).toEqual([
      '0:toolCall(id,other)',
      '{}',
    ]);
    expect((await wordsOf(withTools({ toolChoice: { mode: ToolChoice_Mode.MODE_NONE } })))[1]).toBe('0:text');
  });

  it('calls get_weather if no tool is offered', async () => {
    expect(await callOf(stubRequest('tool', 'Paris'))).toEqual(['0:toolCall(id,get_weather)', '{"city":"Paris"}']);
  });

  it('answers with text after a tool result', async () => {
    const request = withTools();
    request.prompt!.messages.push({
      role: Role.ROLE_USER,
      parts: [{ part: { $case: 'toolResult', value: { toolCallId: 'x', text: 'Tom, Kitty', isError: false, content: [] } } }],
    });
    expect((await wordsOf(request)).slice(1, 3)).toEqual(['0:text', 'The tool answered: Tom, Kitty']);
    request.prompt!.messages.push({ role: Role.ROLE_USER, parts: [{ part: { $case: 'text', value: { text: 'Go on.' } } }] });
    expect((await wordsOf(request)).slice(1, 3)).toEqual(['0:text', 'The tool answered: Tom, Kitty']);
  });

  it('bills its name as one token', async () => {
    expect(finishedOf(await answer(stubRequest('tool', 'Paris'))).usage!.outputTokens).toBe(1 + tokensOf('{"city":"Paris"}'));
  });
});

describe('reason', () => {
  it('reasons first, signed, and counts it separately', async () => {
    const messages = await answer(stubRequest('reason', 'Why?'));
    const words = summary(eventsOf(messages));
    expect(words[1]).toBe('0:reasoning');
    expect(words[3]).toMatch(/^signature=.{20}/);
    expect(words[5]).toBe('1:text');
    const { usage } = finishedOf(messages);
    expect(usage).toMatchObject({ reasoningTokens: tokensOf(words[2]!), outputTokens: tokensOf(words[2]!) + tokensOf(words[6]!) });
  });

  it('does not reason if it is disabled', async () => {
    expect((await wordsOf(stubRequest('reason', 'Why?', { reasoning: { disabled: true } })))[1]).toBe('0:text');
    expect((await wordsOf(stubRequest('reason', 'Why?', { reasoning: { effort: 'none' } })))[1]).toBe('0:text');
  });
});

describe('models that fail', () => {
  it.each([
    ['fail-429', 'upstream_rate_limited'],
    ['fail-500', 'upstream_failed'],
    ['no-such-model', 'upstream_unavailable'],
  ])('%s does so before the first token', async (model, reason) => {
    await expect(answer(stubRequest(model, 'Hi'))).rejects.toMatchObject({ reason });
  });

  it.each([
    ['drop', 'upstream_failed'],
    ['stall', 'upstream_timeout'],
  ])('%s does so after some tokens', async (model, reason) => {
    let outputTokens = 0;
    const reading = (async () => {
      for await (const { usageSoFar } of inference.service.generate(stubRequest(model, 'tokens=7'), gateway))
        outputTokens = usageSoFar!.outputTokens;
    })();
    await expect(reading).rejects.toMatchObject({ reason });
    expect(outputTokens).toBe(7);
  });

  it('stall ends immediately when the consumer disconnects', async () => {
    const patient = await startInference({ idleTimeoutMs: 60_000 });
    const leaving = new AbortController();
    setTimeout(() => leaving.abort(), 30);
    await expect(collect(patient.service, stubRequest('stall', 'Hi'), leaving.signal)).rejects.toMatchObject({ reason: 'cancelled' });
    await patient.stop();
  });
});

describe('embed', () => {
  const embed = async (texts: readonly string[], embedding = {}): Promise<{ vectors: Float32Array[]; input: number }> => {
    const messages = texts.map((text) => ({ role: Role.ROLE_USER, parts: [{ part: { $case: 'text' as const, value: { text } } }] }));
    const request = GenerateRequest.fromPartial({ ...stubRequest('embed', ''), maxOutputTokens: 0, prompt: { messages }, embedding });
    const answered = await answer(request);
    const vectors = eventsOf(answered).flatMap((event) =>
      event?.$case === 'embedding' ? [new Float32Array(Uint8Array.from(event.value.vector).buffer)] : [],
    );
    return { vectors, input: finishedOf(answered).usage!.inputTokens };
  };
  const product = (one: Float32Array, other: Float32Array): number => one.reduce((sum, value, index) => sum + value * other[index]!, 0);

  it('gives texts with common words similar vectors of length 1, and bills their tokens', async () => {
    const { vectors, input } = await embed(['The cat sleeps', 'the cat eats', 'Quarterly report']);
    const [cat, otherCat, report] = vectors as [Float32Array, Float32Array, Float32Array];
    for (const vector of vectors) expect([vector.length, product(vector, vector)]).toEqual([256, expect.closeTo(1, 5)]);
    expect(product(cat, otherCat)).toBeGreaterThan(0.5);
    expect(product(cat, report)).toBeLessThan(0.5);
    expect(input).toBe(3 + 3 + 2);
  });

  it('embeds ids of tokens, in as many dimensions as requested', async () => {
    const { vectors, input } = await embed([], { tokenInputs: [{ ids: [1, 2, 3] }], dimensions: 8 });
    expect([vectors[0]!.length, input]).toEqual([8, 3]);
    await expect(embed(['a'], { dimensions: 1025 })).rejects.toMatchObject({ reason: 'upstream_rejected' });
  });

  it('does not hold up other calls, however long the inputs are', async () => {
    const begunAtMs = performance.now();
    await expect(embed(['.'.repeat(1 << 24)])).rejects.toMatchObject({ reason: 'context_length_exceeded' });
    expect(performance.now() - begunAtMs).toBeLessThan(1000);
    await expect(embed([], { tokenInputs: [{ ids: Array<number>(32_769).fill(1) }] })).rejects.toMatchObject({
      reason: 'context_length_exceeded',
    });
    let turns = 0;
    let ticker = setImmediate(function tick() {
      turns += 1;
      ticker = setImmediate(tick);
    });
    const { input } = await embed(Array<string>(50).fill('.'.repeat(32_768)));
    clearImmediate(ticker);
    expect(input).toBe(50 * 32_768);
    expect(turns).toBeGreaterThanOrEqual(50);
  });
});
