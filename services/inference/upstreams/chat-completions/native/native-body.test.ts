import { describe, expect, it } from '@jest/globals';
import { GenerateRequest, ApiFormat, Role } from '#proto/inference/v1/inference.js';
import { flavourOf } from '../flavour.js';
import { chatCompletionsBody } from '../request.js';

const openAi = { isOpenAi: true };
const other = { isOpenAi: false };

function built(fields: unknown, flavour = other, rest: Parameters<typeof GenerateRequest.fromPartial>[0] = {}) {
  const fieldsJson = typeof fields === 'string' ? fields : JSON.stringify(fields);
  const native = { format: ApiFormat.API_FORMAT_CHAT_COMPLETIONS, fieldsJson, droppedElsewhere: ['logit_bias'] };
  const { json, dropped } = chatCompletionsBody(
    GenerateRequest.fromPartial({ native, maxOutputTokens: 77, endUser: 'hashed', prompt: {}, ...rest }),
    'up-1',
    flavour,
  );
  return { json, body: JSON.parse(json) as Record<string, unknown>, dropped };
}

const text = { part: { $case: 'text' as const, value: { text: 'Hi' } } };
const thought = { part: { $case: 'reasoning' as const, value: { text: 'Hm' } } };
const history = [
  { role: 'developer', content: 'Be brief.' },
  {
    role: 'user',
    name: 'ann',
    content: [
      { type: 'text', text: 'the "developer" role', cache_control: { type: 'ephemeral' } },
      { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
    ],
  },
  {
    role: 'assistant',
    content: 'Hm',
    reasoning_content: 'r',
    reasoning: 'r',
    thinking_blocks: [{ type: 'thinking', thinking: 'r', signature: 's' }],
  },
];

describe('custom tools in the body for a caller of the same format', () => {
  const custom = {
    name: 'c',
    description: 'Runs code.',
    format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } },
  };
  const called = { id: 'a', type: 'custom', custom: { name: 'c', input: 'x "' } };
  const f = { type: 'function', function: { name: 'f' } };
  const named = { type: 'custom', custom: { name: 'c' } };
  const fields = {
    messages: [
      { role: 'user', content: '"type":"custom"' },
      { role: 'assistant', tool_calls: [called] },
      { role: 'tool', tool_call_id: 'a', content: 'y' },
    ],
    tools: [f, { type: 'custom', custom }],
    tool_choice: named,
  };

  it('become functions for servers that have none, also in the choice among them and in past calls', () => {
    const { body } = built(fields);
    expect(body['tools']).toEqual([
      f,
      {
        type: 'function',
        function: {
          name: 'c',
          description: expect.stringMatching(/^Runs code\..*lark grammar:\nstart: "x"$/s),
          parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'], additionalProperties: false },
        },
      },
    ]);
    expect(body['tool_choice']).toEqual({ type: 'function', function: { name: 'c' } });
    expect(body['messages']).toEqual([
      fields.messages[0],
      { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'c', arguments: '{"input":"x \\""}' } }] },
      fields.messages[2],
    ]);
    const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named, f] } };
    expect(built({ ...fields, tool_choice: allowed }).body['tool_choice']).toEqual({
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'c' } }, f] },
    });
  });

  it('stay what they are for OpenAI, and for a server whose operator allows them', () => {
    for (const flavour of [openAi, flavourOf('https://vendor.test/v1', ['tools.custom'])])
      expect(built(fields, flavour).body).toMatchObject(fields);
    expect(flavourOf('https://vendor.test/v1').takesCustomTools).toBe(false);
  });
});

describe('the body for a caller of the same format', () => {
  it("has our fields, and everything of the caller's unchanged", () => {
    const fields = {
      messages: [{ role: 'user', content: 'Hi' }],
      n: 2,
      logprobs: true,
      invented_tomorrow: { deep: [1, null] },
      temperature: 0.1,
    };
    expect(built(fields).body).toEqual({
      model: 'up-1',
      max_tokens: 77,
      user: 'hashed',
      stream: true,
      stream_options: { include_usage: true },
      ...fields,
    });
    expect(built(fields, openAi).body).toEqual({
      model: 'up-1',
      max_completion_tokens: 77,
      safety_identifier: 'hashed',
      stream: true,
      stream_options: { include_usage: true, include_obfuscation: false },
      ...fields,
    });
    expect(built(fields).dropped).toEqual([]);
  });

  it('has none of the fields that Mistral rejects', () => {
    expect(built({}, flavourOf('https://api.mistral.ai/v1')).body).toEqual({ model: 'up-1', max_tokens: 77, stream: true });
  });

  it('has ids of tool calls that Mistral accepts', () => {
    const mistral = flavourOf('https://api.mistral.ai/v1');
    const turn = (...ids: string[]) => [
      { role: 'assistant', tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })) },
      ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: '1' })),
    ];
    const messages = [{ role: 'user', content: '"tool_call_id":"x"' }, ...turn('call_1', 'Ab3dEf9Gh')];
    const sent = built({ messages }, mistral).body['messages'] as [unknown, { tool_calls: { id: string }[] }];
    const { id } = sent[1].tool_calls[0]!;
    expect(id).toMatch(/^[A-Za-z0-9]{9}$/);
    expect(sent).toEqual([messages[0], ...turn(id, 'Ab3dEf9Gh')]);
    expect(built({ messages }).body['messages']).toEqual(messages);
  });

  it('has ids of tool calls that OpenAI accepts, which other servers generate too long', () => {
    const turn = (id: string) => [
      { role: 'assistant', tool_calls: [{ id, type: 'custom', custom: { name: 'c', input: 'x' } }] },
      { role: 'tool', tool_call_id: id, content: '1' },
    ];
    const messages = [...turn(`chatcmpl-tool-${'a'.repeat(32)}`), ...turn('b'.repeat(40))];
    const sent = built({ messages }, openAi).body['messages'] as [{ tool_calls: { id: string }[] }];
    const { id } = sent[0].tool_calls[0]!;
    expect(id).toMatch(/^call_[0-9a-f]{35}$/);
    expect(sent).toEqual([...turn(id), ...turn('b'.repeat(40))]);
    expect(built({ messages }, flavourOf('https://vendor.test/v1', ['tools.custom'])).body['messages']).toEqual(messages);
  });

  it("contains the caller's text byte by byte, so that a large body is not parsed again", () => {
    const fields = '{"messages":[{"role":"user","content":"\\u00fc \\ud83d\\udc4b 1.0"}],"seed":1.50,"x":1e400}';
    expect(built(fields).json.endsWith(fields.slice(1))).toBe(true);
    expect(built(fields, openAi).json.endsWith(fields.slice(1))).toBe(true);
  });

  it('is complete JSON if the caller has no fields of its own', () => {
    expect(built({}, other, { endUser: '' }).body).toEqual({
      model: 'up-1',
      max_tokens: 77,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('replaces "developer" with "system" for servers that may not know it, and changes nothing else', () => {
    const { body, dropped } = built({ messages: history, response_format: { type: 'text' } });
    expect(body['messages']).toEqual([{ role: 'system', content: 'Be brief.' }, ...history.slice(1)]);
    expect(body['response_format']).toEqual({ type: 'text' });
    expect(dropped).toEqual([]);
  });

  it('to OpenAI leaves out extensions that OpenAI rejects, and names them', () => {
    const tools = [
      { type: 'function', function: { name: 'f', cache_control: { type: 'ephemeral' } }, cache_control: { type: 'ephemeral' } },
    ];
    const { body, dropped } = built({ messages: history, tools, parallel_tool_calls: false, cache_control: { type: 'ephemeral' } }, openAi);
    expect(body['messages']).toEqual([
      history[0],
      { ...history[1], content: [{ type: 'text', text: 'the "developer" role' }, (history[1]!.content as unknown[])[1]] },
      { role: 'assistant', content: 'Hm' },
    ]);
    expect(body['tools']).toEqual([{ type: 'function', function: { name: 'f' } }]);
    expect(body['parallel_tool_calls']).toBe(false);
    expect(body).not.toHaveProperty('cache_control');
    expect([...dropped].sort()).toEqual(['cache_control', 'reasoning', 'reasoning_content', 'thinking_blocks']);
  });

  it.each(['https://api.cerebras.ai/v1', 'https://api.groq.com/openai/v1', 'https://api.mistral.ai/v1'])(
    'to %s leaves them out as well',
    (baseUrl) => {
      const { body, dropped } = built({ messages: history }, flavourOf(baseUrl));
      expect(body['messages']).toEqual([
        { role: 'system', content: 'Be brief.' },
        { ...history[1], content: [{ type: 'text', text: 'the "developer" role' }, (history[1]!.content as unknown[])[1]] },
        { role: 'assistant', content: 'Hm' },
      ]);
      expect([...dropped].sort()).toEqual(['cache_control', 'reasoning', 'reasoning_content', 'thinking_blocks']);
      const { messages } = built({}, flavourOf(baseUrl), {
        native: undefined,
        prompt: {
          messages: [
            { role: Role.ROLE_USER, parts: [text] },
            { role: Role.ROLE_ASSISTANT, parts: [thought, text] },
          ],
        },
      }).body;
      expect(messages).toEqual([
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hi' },
      ]);
    },
  );

  it("to OpenAI keeps fields of these names if they are the caller's own", () => {
    const fields = { messages: [{ role: 'user', content: 'Hi' }], reasoning: { effort: 'low' }, metadata: { cache_control: 'x' } };
    expect(built(fields, openAi).body).toMatchObject(fields);
    expect(built(fields, openAi).dropped).toEqual([]);
  });

  it('to OpenAI leaves out parallel calls if there are no tools', () => {
    expect(built({ messages: [], parallel_tool_calls: true }, openAi).body).not.toHaveProperty('parallel_tool_calls');
    expect(built({ messages: [], parallel_tool_calls: true }).body).toHaveProperty('parallel_tool_calls');
  });

  it('has room for at least one token', () => {
    expect(() => built({}, other, { maxOutputTokens: 0 })).toThrow('max_tokens: must be at least 1');
  });
});
