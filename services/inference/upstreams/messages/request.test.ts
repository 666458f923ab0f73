import { describe, expect, it } from '@jest/globals';
import { CountTokensRequest, GenerateRequest, type Prompt, Role, ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import { checkCountTokens, checkMessages } from '../../../../tests/upstream/checks/check-messages.js';
import { textRequest } from '../../testing/fixtures.js';
import { messagesToolId } from '#rules/wire/tool-ids.js';
import { countTokensBody, messagesBody } from './request.js';

const oldVersion = '2023-06-01';
const newVersion = '2026-10-21';

const text = (value: string) => ({ part: { $case: 'text' as const, value: { text: value } } });
const result = (toolCallId: string, value: string, isError = false) => ({
  part: { $case: 'toolResult' as const, value: { toolCallId, text: value, isError } },
});

/** Everything that a request can hold, with the tool results of one turn in messages of their own, as chat-completions callers send them. */
const full = GenerateRequest.fromPartial({
  callId: 'req_1',
  prompt: {
    system: ['Be brief.', ''],
    messages: [
      { role: Role.ROLE_SYSTEM, parts: [text('Be kind.')] },
      { role: Role.ROLE_USER, parts: [text('Weather and time?'), text('')] },
      {
        role: Role.ROLE_ASSISTANT,
        parts: [
          { part: { $case: 'reasoning', value: { text: 'Two tools.', signature: 'sig' } } },
          { part: { $case: 'reasoning', value: { text: "Another vendor's." } } },
          { part: { $case: 'reasoning', value: { text: 'Encrypted.', signature: 'tgitem.rs_1.gAAA' } } },
          { part: { $case: 'reasoning', value: { redactedData: 'opaque' } } },
          text('One moment.'),
          { part: { $case: 'toolCall', value: { id: 'functions.f:0', name: 'f', argumentsJson: '{"x":1}' } } },
          { part: { $case: 'toolCall', value: { id: 'b', name: 'g', argumentsJson: '{"x":' } } },
        ],
      },
      { role: Role.ROLE_USER, parts: [result('functions.f:0', 'sun')] },
      { role: Role.ROLE_USER, parts: [text('Well?'), result('b', '', true)] },
      { role: Role.ROLE_SYSTEM, parts: [text('Hurry.')] },
    ],
    tools: [{ name: 'f', description: 'F', parametersJson: '{"properties":{}}', strict: true }, { name: 'g' }],
    toolChoice: { mode: ToolChoice_Mode.MODE_NAMED, name: 'g', disableParallelCalls: true },
  },
  maxOutputTokens: 5000,
  sampling: { temperature: 1.7, topP: 0.9, topK: 5, seed: 7n, frequencyPenalty: 1 },
  stopSequences: ['END', ' \n'],
  reasoning: { effort: 'minimal' },
  endUser: 'u1',
});

const sent = (request: GenerateRequest, version = oldVersion) => messagesBody({ ...request, messagesVersion: version }, 'm');
const bodyOf = (request: GenerateRequest, version = oldVersion) => JSON.parse(sent(request, version).json) as Record<string, unknown>;

describe('a messages request', () => {
  it('expresses everything in the canonical one', () => {
    expect(bodyOf(full)).toEqual({
      model: 'm',
      max_tokens: 5000,
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be kind.' },
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Weather and time?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Two tools.', signature: 'sig' },
            { type: 'redacted_thinking', data: 'opaque' },
            { type: 'text', text: 'One moment.' },
            { type: 'tool_use', id: messagesToolId('functions.f:0'), name: 'f', input: { x: 1 } },
            { type: 'tool_use', id: 'b', name: 'g', input: { _raw: '{"x":' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: messagesToolId('functions.f:0'), content: 'sun' },
            { type: 'tool_result', tool_use_id: 'b', is_error: true },
            { type: 'text', text: 'Well?' },
            { type: 'text', text: '<system-reminder>\nHurry.\n</system-reminder>' },
          ],
        },
      ],
      tools: [
        { name: 'f', description: 'F', input_schema: { type: 'object', properties: {} }, strict: true },
        { name: 'g', input_schema: { type: 'object', properties: {} } },
      ],
      tool_choice: { type: 'tool', name: 'g', disable_parallel_tool_use: true },
      output_config: { effort: 'low' },
      temperature: 1,
      top_p: 0.9,
      top_k: 5,
      stop_sequences: ['END'],
      metadata: { user_id: 'u1' },
      stream: true,
    });
  });

  it('names the fields that it drops', () => {
    expect(sent(full).dropped).toEqual(['seed', 'frequency_penalty']);
    expect(sent(full, newVersion).dropped).toEqual(['seed', 'frequency_penalty', 'temperature', 'top_p', 'top_k']);
  });

  it('has no sampling parameters in the newer version', () => {
    const body = bodyOf(full, newVersion);
    for (const field of ['temperature', 'top_p', 'top_k']) expect(body).not.toHaveProperty(field);
  });

  it.each([oldVersion, newVersion])('is accepted by a strict upstream of version %s', (version) => {
    expect(() => checkMessages(bodyOf(full, version), version)).not.toThrow();
    expect(() => checkMessages(bodyOf(textRequest('Hi'), version), version)).not.toThrow();
    expect(() =>
      checkCountTokens(
        JSON.parse(countTokensBody(CountTokensRequest.fromPartial({ prompt: full.prompt, reasoning: full.reasoning }), 'm')),
      ),
    ).not.toThrow();
  });

  it('leaves out what was not requested', () => {
    expect(bodyOf(textRequest('Hi'))).toEqual({
      model: 'm',
      max_tokens: 1000,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      stream: true,
    });
  });

  it('may request no output at all, to warm a cache', () => {
    expect(bodyOf(textRequest('Hi', { maxOutputTokens: 0 }))['max_tokens']).toBe(0);
  });

  it('is refused if nothing is left of the conversation', () => {
    expect(() => bodyOf(textRequest(''))).toThrow('The conversation is empty.');
  });

  it.each([
    [{ disabled: true, effort: 'high' }, { thinking: { type: 'disabled' } }],
    [{ effort: 'none' }, { thinking: { type: 'disabled' } }],
    [{ effort: 'xhigh' }, { output_config: { effort: 'xhigh' } }],
    [{ budgetTokens: 9000 }, { thinking: { type: 'enabled', budget_tokens: 5000 } }],
    [{ budgetTokens: 100 }, {}],
  ])('turns reasoning %j into %j', (reasoning, expected) => {
    const { thinking, output_config } = bodyOf(textRequest('Hi', { reasoning, maxOutputTokens: 5001 }));
    expect({ thinking, output_config }).toEqual({ thinking: undefined, output_config: undefined, ...expected });
  });

  it('names a budget that it lowers', () => {
    const droppedWith = (budgetTokens: number) =>
      messagesBody(textRequest('Hi', { reasoning: { budgetTokens }, maxOutputTokens: 5001 }), 'm').dropped;
    expect(droppedWith(5001)).toEqual(['thinking.budget_tokens']);
    expect(droppedWith(5000)).toEqual([]);
  });

  it.each([
    [ToolChoice_Mode.MODE_AUTO, false, { type: 'auto' }],
    [ToolChoice_Mode.MODE_NONE, true, { type: 'none' }],
    [ToolChoice_Mode.MODE_REQUIRED, true, { type: 'any', disable_parallel_tool_use: true }],
    [ToolChoice_Mode.MODE_UNSPECIFIED, true, { type: 'auto', disable_parallel_tool_use: true }],
    [ToolChoice_Mode.MODE_UNSPECIFIED, false, undefined],
  ])('turns tool choice %s, without parallel calls: %s, into %j', (mode, disableParallelCalls, expected) => {
    const prompt = { ...textRequest('Hi').prompt, tools: [{ name: 'f' }], toolChoice: { mode, disableParallelCalls } } as unknown as Prompt;
    expect(bodyOf(textRequest('Hi', { prompt }))['tool_choice']).toEqual(expected);
  });
});

describe('tool call ids', () => {
  it('of other vendors are made acceptable and stay distinct', () => {
    expect(messagesToolId('toolu_1-A')).toBe('toolu_1-A');
    expect(messagesToolId('f:0')).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(messagesToolId('f:0')).not.toBe(messagesToolId('f.0'));
  });
});
