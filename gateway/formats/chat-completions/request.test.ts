import { describe, expect, it } from '@jest/globals';
import { ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import { raisedBy } from '#kit/testing/waiting.js';
import { clientRequests, shortly } from '../testing/requests.js';
import { parseChatCompletions } from './request.js';

const minimal = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } };
const call = (id: string): object => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });

function refusalOf(body: unknown) {
  const { reason, details, message } = raisedBy(() => parseChatCompletions(body));
  return { reason, field: details['field'], message };
}

describe('a chat-completions request', () => {
  it.each(Object.entries(clientRequests('chat-completions')))('is accepted as sent by %s', (_name, body) => {
    expect(parseChatCompletions(body).request.prompt?.messages.length).toBeGreaterThan(0);
  });

  it('becomes the common call', () => {
    const parsed = parseChatCompletions({
      ...minimal,
      max_tokens: 10,
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      frequency_penalty: -1,
      presence_penalty: 1,
      stop: 'END',
      reasoning_effort: 'high',
    });
    expect(parsed).toMatchObject({ model: 'm', streaming: true, maxOutputTokens: 10, includeUsage: true, droppedFields: [] });
    expect(parsed.request).toMatchObject({
      streaming: true,
      sampling: { temperature: 0.5, topP: 0.9, seed: 7n, frequencyPenalty: -1, presencePenalty: 1 },
      stopSequences: ['END'],
      reasoning: { effort: 'high', disabled: false },
    });
  });

  it('may leave the output cap to the gateway, and its newer name takes precedence', () => {
    expect(parseChatCompletions(minimal).maxOutputTokens).toBeUndefined();
    expect(parseChatCompletions({ ...minimal, max_tokens: 10, max_completion_tokens: 20 }).maxOutputTokens).toBe(20);
    expect(refusalOf({ ...minimal, max_tokens: 0 })).toMatchObject({ reason: 'invalid_request', field: 'max_tokens' });
  });

  it('may hold null for every optional field', () => {
    const nulls = Object.fromEntries(
      [
        'max_tokens',
        'stream',
        'stream_options',
        'temperature',
        'stop',
        'tools',
        'tool_choice',
        'n',
        'logprobs',
        'response_format',
        'audio',
        'seed',
        'user',
      ].map((name) => [name, null]),
    );
    expect(parseChatCompletions({ ...minimal, ...nulls })).toEqual(parseChatCompletions(minimal));
  });

  it('names the missing or malformed field and what is allowed', () => {
    expect(refusalOf({})).toEqual({ reason: 'invalid_request', field: 'model', message: 'model: Field required' });
    expect(refusalOf([])).toMatchObject({ reason: 'invalid_request', field: 'body' });
    expect(refusalOf({ model: 'm', messages: [] })).toMatchObject({ field: 'messages' });
    expect(refusalOf({ ...minimal, temperature: 3 })).toMatchObject({ field: 'temperature', message: 'temperature: must be at most 2' });
    expect(refusalOf({ ...minimal, stop: ['a', 'b', 'c', 'd', 'e'] })).toMatchObject({ reason: 'invalid_request', field: 'stop' });
    expect(refusalOf({ ...minimal, reasoning_effort: 7 })).toMatchObject({ reason: 'invalid_request', field: 'reasoning_effort' });
    expect(refusalOf({ model: 'm', messages: [{ role: 'user' }] })).toMatchObject({
      field: 'messages[0].content',
      message: 'messages[0].content: Field required',
    });
    expect(refusalOf({ model: 'm', messages: [{ role: 'user', content: [{ type: 'text' }] }] })).toMatchObject({
      field: 'messages[0].content[0].text',
    });
  });

  it('shows the vendor a hash of its end user, never the name', () => {
    const { request } = parseChatCompletions({ ...minimal, user: 'alice', safety_identifier: 'bob' });
    expect(request.endUser).toBe('2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90');
    expect(parseChatCompletions({ ...minimal, safety_identifier: 'alice' }).request.endUser).toBe(request.endUser);
    expect(parseChatCompletions(minimal).request.endUser).toBe('');
  });
});

describe('the conversation of a chat-completions request', () => {
  const conversationOf = (...messages: object[]): ReturnType<typeof parseChatCompletions> => parseChatCompletions({ model: 'm', messages });

  it('separates leading instructions and keeps later ones in place', () => {
    const { request } = conversationOf(
      { role: 'system', content: 'one' },
      {
        role: 'developer',
        content: [
          { type: 'text', text: 'two' },
          { type: 'text', text: 'three' },
        ],
      },
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'now in verse' },
      { role: 'user', content: 'again' },
    );
    expect(request.prompt?.system).toEqual(['one', 'two', 'three']);
    expect(shortly(request.prompt?.messages)).toEqual(['user: {"text":"hi"}', 'system: {"text":"now in verse"}', 'user: {"text":"again"}']);
  });

  it('skips empty text, and is refused if nothing else is left', () => {
    const { request } = conversationOf(
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', text: '' },
          { type: 'text', text: 'so?' },
        ],
      },
    );
    expect(shortly(request.prompt?.messages)).toEqual(['user: {"text":"hi"}', 'user: {"text":"so?"}']);
    expect(refusalOf({ model: 'm', messages: [{ role: 'user', content: '' }] })).toMatchObject({ field: 'messages' });
    expect(refusalOf({ model: 'm', messages: [{ role: 'system', content: 'alone' }] })).toMatchObject({ field: 'messages' });
  });

  it('puts the results of parallel calls into one message (7.9 #14)', () => {
    const { request } = conversationOf(
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
      { role: 'tool', tool_call_id: 'b', content: 'B' },
      {
        role: 'tool',
        tool_call_id: 'a',
        content: [
          { type: 'text', text: 'A1' },
          { type: 'text', text: 'A2' },
        ],
      },
      { role: 'user', content: 'go on' },
    );
    expect(shortly(request.prompt?.messages).slice(1)).toEqual([
      'assistant: {"id":"a","name":"f","argumentsJson":"{}"} {"id":"b","name":"f","argumentsJson":"{}"}',
      'user: {"toolCallId":"b","text":"B","isError":false,"content":[]} {"toolCallId":"a","text":"A1\\nA2","isError":false,"content":[]}',
      'user: {"text":"go on"}',
    ]);
  });

  it('is refused if calls and results do not pair up', () => {
    const ask = { role: 'user', content: 'hi' };
    const calls = { role: 'assistant', tool_calls: [call('a')] };
    const result = { role: 'tool', tool_call_id: 'a', content: '1' };
    const refusal = (...messages: object[]): object => refusalOf({ model: 'm', messages });
    expect(refusal(ask, calls)).toMatchObject({ field: 'messages[1].tool_calls' });
    expect(refusal(ask, calls, ask)).toMatchObject({ field: 'messages[1].tool_calls' });
    expect(refusal(ask, result)).toMatchObject({ field: 'messages[1].tool_call_id' });
    expect(refusal(ask, calls, result, result)).toMatchObject({ field: 'messages[3].tool_call_id' });
    expect(refusal(ask, { role: 'assistant', tool_calls: [call('a'), call('a')] })).toMatchObject({ field: 'messages[1].tool_calls' });
  });

  it('replays reasoning, signed or not (7.9 #11 and #12)', () => {
    const thinking_blocks = [
      { type: 'thinking', thinking: '', signature: 'sig' },
      { type: 'redacted_thinking', data: 'sealed' },
    ];
    const { request } = conversationOf(
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'one', reasoning_content: 'unsigned' },
      { role: 'assistant', content: 'two', reasoning_content: 'shown', thinking_blocks },
      { role: 'assistant', content: null, refusal: 'No.' },
      { role: 'user', content: 'again' },
    );
    expect(shortly(request.prompt?.messages).slice(1, 4)).toEqual([
      'assistant: {"text":"unsigned","signature":"","redactedData":""} {"text":"one"}',
      'assistant: {"text":"","signature":"sig","redactedData":""} {"text":"","signature":"","redactedData":"sealed"} {"text":"two"}',
      'assistant: {"text":"No."}',
    ]);
  });
});

describe('the tools of a chat-completions request', () => {
  const toolChoiceOf = (fields: object): object | undefined =>
    parseChatCompletions({ ...minimal, tools: [tool], ...fields }).request.prompt?.toolChoice;

  it('are translated, including absent parameters', () => {
    const { request } = parseChatCompletions({
      ...minimal,
      tools: [
        { type: 'function', function: { name: 'f', description: 'd', strict: true } },
        { ...tool, function: { name: 'g', parameters: {} } },
      ],
    });
    expect(request.prompt?.tools).toEqual([
      { name: 'f', description: 'd', parametersJson: '', strict: true },
      { name: 'g', description: '', parametersJson: '{}', strict: undefined },
    ]);
  });

  it('are chosen as the caller says', () => {
    expect(toolChoiceOf({})).toBeUndefined();
    expect(toolChoiceOf({ tool_choice: 'auto' })).toEqual({ mode: ToolChoice_Mode.MODE_AUTO, name: '', disableParallelCalls: false });
    expect(toolChoiceOf({ tool_choice: 'none' })).toMatchObject({ mode: ToolChoice_Mode.MODE_NONE });
    expect(toolChoiceOf({ tool_choice: 'required' })).toMatchObject({ mode: ToolChoice_Mode.MODE_REQUIRED });
    expect(toolChoiceOf({ tool_choice: { type: 'function', function: { name: 'f' } } })).toMatchObject({
      mode: ToolChoice_Mode.MODE_NAMED,
      name: 'f',
    });
    expect(toolChoiceOf({ parallel_tool_calls: false })).toEqual({ mode: ToolChoice_Mode.MODE_AUTO, name: '', disableParallelCalls: true });
    expect(parseChatCompletions({ ...minimal, parallel_tool_calls: false }).request.prompt?.toolChoice).toBeUndefined();
  });

  it('are narrowed to the allowed ones', () => {
    const tools = ['f', 'g'].map((name) => ({ type: 'function', function: { name } }));
    const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tools[1]] } };
    const { prompt } = parseChatCompletions({ ...minimal, tools, tool_choice: allowed }).request;
    expect(prompt?.tools.map(({ name }) => name)).toEqual(['g']);
    expect(prompt?.toolChoice).toMatchObject({ mode: ToolChoice_Mode.MODE_REQUIRED });
  });

  it('and past calls may be custom: their input is free text, and may have a grammar', () => {
    const custom = {
      type: 'custom',
      custom: { name: 'c', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } } },
    };
    const messages = [
      ...minimal.messages,
      { role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'c', input: 'x {' } }] },
      { role: 'tool', tool_call_id: 'a', content: 'y' },
    ];
    const { prompt } = parseChatCompletions({
      ...minimal,
      messages,
      tools: [custom],
      tool_choice: { type: 'custom', custom: { name: 'c' } },
    }).request;
    expect(prompt?.tools).toEqual([
      { name: 'c', description: '', parametersJson: '', custom: { grammarSyntax: 'lark', grammar: 'start: "x"' } },
    ]);
    expect(prompt?.toolChoice).toMatchObject({ mode: ToolChoice_Mode.MODE_NAMED, name: 'c' });
    expect(prompt?.messages[1]?.parts).toEqual([
      { part: { $case: 'toolCall', value: { id: 'a', name: 'c', argumentsJson: 'x {', isCustom: true } } },
    ]);
  });

  it('are refused if names are duplicate or malformed, or the choice names none of them', () => {
    expect(refusalOf({ ...minimal, tools: [tool, tool] })).toMatchObject({ field: 'tools[1].function.name' });
    expect(refusalOf({ ...minimal, tools: [{ type: 'function', function: { name: 'a b' } }] })).toMatchObject({
      field: 'tools[0].function.name',
    });
    expect(refusalOf({ ...minimal, tools: [tool], tool_choice: { type: 'function', function: { name: 'g' } } })).toMatchObject({
      field: 'tool_choice',
    });
    expect(refusalOf({ ...minimal, tool_choice: 'required' })).toMatchObject({ field: 'tool_choice' });
    expect(refusalOf({ ...minimal, tools: [tool], tool_choice: { type: 'custom', custom: { name: 'g' } } })).toMatchObject({
      reason: 'invalid_request',
      field: 'tool_choice',
    });
  });
});

describe('a conversation without end', () => {
  it('is refused before it is translated', () => {
    const messages = Array.from({ length: 100_001 }, () => minimal.messages[0]);
    expect(refusalOf({ ...minimal, messages })).toMatchObject({
      reason: 'invalid_request',
      field: 'messages',
      message: expect.stringContaining('100000'),
    });
    expect(parseChatCompletions({ ...minimal, messages: messages.slice(1) }).request.prompt?.messages).toHaveLength(100_000);
  });
});

describe('the bound of input tokens', () => {
  it('counts UTF-8 bytes and what vendors add around messages and tools', () => {
    expect(parseChatCompletions(minimal).inputTokensMax).toBe(2 + 64);
    expect(
      parseChatCompletions({
        model: 'm',
        messages: [
          { role: 'system', content: 'é' },
          { role: 'user', content: '日本' },
        ],
      }).inputTokensMax,
    ).toBe(2 + 6 + 2 * 64);
    const described = { type: 'function', function: { name: 'f', description: 'ab', parameters: {} } };
    expect(parseChatCompletions({ ...minimal, tools: [described] }).inputTokensMax).toBe(2 + 64 + 5 + 512 + 1024);
  });
});
