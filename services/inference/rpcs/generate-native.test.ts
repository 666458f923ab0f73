import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Event, type GenerateRequest, Role, ApiFormat } from '#proto/inference/v1/inference.js';
import { collect, finishedOf } from '../testing/fixtures.js';
import { stubRequest, type Stubbed, startStubbed } from '../testing/stubbed.js';

const question = { role: 'user', content: 'Say hello.' };

/** A chat-completions caller's request with these fields of its own. */
function native(model: string, fields: object, rest: Parameters<typeof stubRequest>[2] = {}): GenerateRequest {
  const fieldsJson = JSON.stringify({ messages: [question], ...fields });
  return stubRequest(model, 'cc', { native: { format: ApiFormat.API_FORMAT_CHAT_COMPLETIONS, fieldsJson }, endUser: 'hashed', ...rest });
}

describe('a call of a chat-completions caller to an upstream of that format', () => {
  let stubbed: Stubbed;
  beforeAll(async () => {
    stubbed = await startStubbed();
  });
  afterAll(() => stubbed.stop());

  const answer = async (request: GenerateRequest): Promise<{ events: Event[]; rests: unknown[] }> => {
    const messages = await collect(stubbed.inference.service, request);
    expect(finishedOf(messages).usageReported).toBe(true);
    const events = messages.flatMap((message) => message.events);
    const rests = events.flatMap(({ event, extraJson }) => [
      ...(event?.$case === 'foreign' ? [JSON.parse(event.value.json) as unknown] : []),
      ...(extraJson === undefined ? [] : [JSON.parse(extraJson) as unknown]),
    ]);
    return { events, rests };
  };

  it("sends the caller's own fields with ours", async () => {
    const fields = {
      messages: [{ role: 'developer', content: 'Be brief.' }, question],
      verbosity: 'low',
      logit_bias: { 50: -1 },
      metadata: { a: 'b' },
    };
    await answer(native('text', fields));
    expect(stubbed.stub.requests.at(-1)!.body).toEqual({
      model: 'text',
      max_tokens: 1000,
      user: 'hashed',
      stream: true,
      stream_options: { include_usage: true },
      ...fields,
      messages: [{ role: 'system', content: 'Be brief.' }, question],
    });
  });

  it('gets log probabilities with the text that they belong to', async () => {
    const { events } = await answer(native('logprobs', { logprobs: true, top_logprobs: 1 }));
    const texts = events.filter(({ event }) => event?.$case === 'blockDelta');
    expect(texts.length).toBeGreaterThan(0);
    for (const { extraJson } of texts)
      expect(JSON.parse(extraJson!)).toMatchObject({ choices: [{ index: 0, logprobs: { content: expect.any(Array) } }] });
  });

  it('gets parallel answers as separate pieces, each with its own end', async () => {
    const { events } = await answer(native('choices', { n: 2 }, { choices: 2 }));
    const pieces = events.flatMap(({ event }) => (event?.$case === 'foreign' ? [event.value] : []));
    expect(pieces.map(({ countedText }) => countedText).join('')).toBe('Another answer.');
    expect(pieces.filter(({ isEnd }) => isEnd)).toHaveLength(1);
  });

  it('gets new fields of the vendor', async () => {
    const { rests } = await answer(native('unknown-fields', {}));
    expect(rests[0]).toMatchObject({ new_field: { of: 'tomorrow' } });
    expect(rests.at(-1)).toMatchObject({ choices: [{ index: 0, new_end_field: 7 }] });
  });

  it('gets calls of custom tools, whose arguments are free text', async () => {
    const { events } = await answer(native('custom-tool', { tools: [{ type: 'custom', custom: { name: 'run_code' } }] }));
    const start = events.find(({ event }) => event?.$case === 'blockStart')?.event;
    expect(start).toMatchObject({ value: { block: { $case: 'toolCall', value: { name: 'run_code', isCustom: true } } } });
  });

  it('gets none of these in another format', async () => {
    const messages = { format: ApiFormat.API_FORMAT_MESSAGES, fieldsJson: '{}', droppedElsewhere: ['context_management'] };
    const prompt = { messages: [{ role: Role.ROLE_USER, parts: [{ part: { $case: 'text' as const, value: { text: 'Hi' } } }] }] };
    const { events, rests } = await answer(
      stubRequest('unknown-fields', 'cc', { native: messages, prompt, sampling: { topK: 3 }, reasoning: { disabled: true } }),
    );
    expect(rests).toEqual([]);
    expect(events[0]?.event).toMatchObject({ value: { droppedFields: ['context_management', 'thinking', 'top_k'] } });
  });
});
