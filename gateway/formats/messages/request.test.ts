import { describe, expect, it } from '@jest/globals';
import { ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import { raisedBy } from '#kit/testing/waiting.js';
import { clientRequests, shortly } from '../testing/requests.js';
import { parseCountTokens, parseMessages } from './request.js';

const minimal = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
const tool = { name: 'f', input_schema: { type: 'object', properties: {} } };
const use = (id: string): object => ({ type: 'tool_use', id, name: 'f', input: { a: 1 } });
const result = (id: string): object => ({ type: 'tool_result', tool_use_id: id, content: id.toUpperCase() });
const text = { type: 'text', text: 'go on' };

function refusalOf(body: unknown, version?: string) {
  const { reason, details, message } = raisedBy(() => parseMessages(body, version === undefined ? {} : { version }));
  return { reason, field: details['field'], message };
}

/** A body with these messages, after an opening by the user. */
const after = (...messages: object[]): object => ({ ...minimal, messages: [{ role: 'user', content: 'hi' }, ...messages] });

describe('a messages request', () => {
  it.each(Object.entries(clientRequests('messages')))('is accepted as sent by %s', (_name, body) => {
    expect(parseMessages(body, { version: '2023-06-01' }).request.prompt?.messages.length).toBeGreaterThan(0);
  });

  it('becomes the common call', () => {
    const parsed = parseMessages(
      {
        ...minimal,
        stream: true,
        system: 'Be brief.',
        temperature: 0.5,
        top_p: 0.9,
        top_k: 5,
        stop_sequences: ['END'],
        metadata: { user_id: 'alice' },
      },
      { version: '2023-06-01' },
    );
    expect(parsed).toMatchObject({ model: 'm', streaming: true, maxOutputTokens: 100, droppedFields: [], inputTokensMax: 9 + 64 + 2 + 64 });
    expect(parsed.request).toMatchObject({
      streaming: true,
      messagesVersion: '2023-06-01',
      prompt: { system: ['Be brief.'] },
      sampling: { temperature: 0.5, topP: 0.9, topK: 5 },
      stopSequences: ['END'],
      endUser: '2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90',
    });
  });

  it('of a coding agent loses nothing at upstreams of its format, and elsewhere only fields without effect', () => {
    const parsed = parseMessages(clientRequests('messages')['claude-code-first'], { version: '2023-06-01' });
    expect(parsed.request.prompt?.system).toEqual(['You are a coding agent.', 'Answer in plain text.']);
    expect(parsed.request.prompt?.systemCacheTtls).toEqual({ 0: '1h', 1: '5m' });
    expect(parsed.request.prompt?.tools.map(({ name }) => name)).toEqual(['Bash', 'WebFetch', 'Edit']);
    expect(parsed.request.reasoning).toEqual({ effort: 'medium', budgetTokens: 31999, disabled: false });
    expect(parsed.droppedFields).toEqual([]);
    expect(parsed.request.native?.refusedElsewhere).toEqual([]);
    expect(parsed.request.native?.droppedElsewhere).toEqual([
      'context_management',
      'tools.defer_loading',
      'tools.eager_input_streaming',
      'system.x-anthropic-billing-header',
      'thinking.display',
    ]);
  });

  it('names the missing or malformed field as the vendor does', () => {
    expect(refusalOf({ model: 'm', messages: minimal.messages })).toEqual({
      reason: 'invalid_request',
      field: 'max_tokens',
      message: 'max_tokens: Field required',
    });
    expect(refusalOf({ ...minimal, max_tokens: -1 })).toMatchObject({ reason: 'invalid_request', field: 'max_tokens' });
    expect(refusalOf({ ...minimal, messages: [] })).toMatchObject({ field: 'messages' });
    expect(refusalOf({ ...minimal, messages: Array.from({ length: 100_001 }, () => minimal.messages[0]) })).toMatchObject({
      field: 'messages',
    });
    expect(refusalOf({ ...minimal, messages: [{ role: 'tool', content: 'x' }] })).toMatchObject({
      reason: 'invalid_request',
      field: 'messages.0.role',
      message: 'messages.0.role: "tool" is not one of user, assistant, system',
    });
    expect(refusalOf({ ...minimal, messages: [{ role: 'user', content: [{ type: 'text' }] }] })).toMatchObject({
      field: 'messages.0.content.0.text',
      message: 'messages.0.content.0.text: Field required',
    });
    expect(refusalOf({ ...minimal, tools: [{ name: 'f' }] })).toMatchObject({ field: 'tools.0.input_schema' });
    expect(refusalOf({ ...minimal, thinking: { type: 'enabled', budget_tokens: 2000 } })).toMatchObject({
      field: 'thinking.budget_tokens',
    });
    expect(refusalOf({ ...minimal, tools: [tool, tool] })).toMatchObject({ field: 'tools.1.name' });
  });

  it('has no sampling parameters from version 2026-10-21 on', () => {
    const body = { ...minimal, temperature: 1 };
    expect(refusalOf(body, '2026-10-21')).toMatchObject({
      reason: 'invalid_request',
      field: 'temperature',
      message: expect.stringContaining('Extra inputs are not permitted'),
    });
    expect(parseMessages(body, { version: '2023-06-01' }).request.sampling?.temperature).toBe(1);
    expect(parseMessages({ ...minimal, temperature: null }, { version: '2026-10-21' }).request.sampling?.temperature).toBeUndefined();
  });

  it('leaves room for the answer in addition to the thinking budget', () => {
    const withBudget = (budget_tokens: number): object => ({ ...minimal, max_tokens: 2000, thinking: { type: 'enabled', budget_tokens } });
    expect(parseMessages(withBudget(1999), {}).request.reasoning?.budgetTokens).toBe(1999);
    expect(refusalOf(withBudget(2000))).toMatchObject({
      field: 'thinking.budget_tokens',
      message: 'thinking.budget_tokens: must be less than max_tokens',
    });
    expect(refusalOf(withBudget(1023))).toMatchObject({ field: 'thinking.budget_tokens' });
  });

  it('never disables reasoning and sends an effort at the same time (7.9 #20)', () => {
    const parsed = parseMessages({ ...minimal, thinking: { type: 'disabled' }, output_config: { effort: 'high' } }, {});
    expect(parsed.request.reasoning).toEqual({ effort: '', budgetTokens: undefined, disabled: true });
    expect(parsed.request.native?.droppedElsewhere).toEqual(['output_config.effort']);
  });

  it('translates the tool choice', () => {
    const toolChoiceOf = (tool_choice: object): object | undefined =>
      parseMessages({ ...minimal, tools: [tool], tool_choice }, {}).request.prompt?.toolChoice;
    expect(toolChoiceOf({ type: 'auto', disable_parallel_tool_use: true })).toEqual({
      mode: ToolChoice_Mode.MODE_AUTO,
      name: '',
      disableParallelCalls: true,
    });
    expect(toolChoiceOf({ type: 'any' })).toMatchObject({ mode: ToolChoice_Mode.MODE_REQUIRED });
    expect(toolChoiceOf({ type: 'tool', name: 'f' })).toMatchObject({ mode: ToolChoice_Mode.MODE_NAMED, name: 'f' });
    expect(toolChoiceOf({ type: 'none' })).toMatchObject({ mode: ToolChoice_Mode.MODE_NONE });
    expect(refusalOf({ ...minimal, tools: [tool], tool_choice: { type: 'tool', name: 'g' } })).toMatchObject({ field: 'tool_choice.name' });
    expect(refusalOf({ ...minimal, tool_choice: { type: 'any' } })).toMatchObject({ field: 'tool_choice' });
  });
});

describe('the conversation of a messages request', () => {
  it('keeps thinking with its signature, calls and results in order (7.9 #11, #12 and #16)', () => {
    const { prompt } = parseMessages(clientRequests('messages')['claude-code-tool-turn'], {}).request;
    expect(shortly(prompt?.messages).slice(1)).toEqual([
      'assistant: {"text":"","signature":"c2lnbmVk","redactedData":""} {"text":"","signature":"","redactedData":"c2VhbGVk"} {"text":"I look."} ' +
        '{"id":"toolu_1","name":"Bash","argumentsJson":"{\\"command\\":\\"ls\\"}"} {"id":"toolu_2","name":"Bash","argumentsJson":"{\\"command\\":\\"date\\"}"}',
      'user: {"toolCallId":"toolu_1","text":"README.md\\nsrc","isError":false,"content":[]} {"toolCallId":"toolu_2","text":"date: not found","isError":true,"content":[]} {"text":"Go on."}',
    ]);
  });

  it('may contain instructions in the middle (7.9 #19), but not at the start', () => {
    const { prompt } = parseMessages(after({ role: 'system', content: [text] }, { role: 'user', content: 'hi' }), {}).request;
    expect(shortly(prompt?.messages)[1]).toBe('system: {"text":"go on"}');
    expect(
      refusalOf({
        ...minimal,
        messages: [
          { role: 'system', content: 'x' },
          { role: 'user', content: 'hi' },
        ],
      }),
    ).toMatchObject({
      field: 'messages.0.role',
      message: expect.stringContaining("use the top-level 'system' parameter"),
    });
    expect(refusalOf({ ...minimal, messages: [{ role: 'assistant', content: 'x' }] })).toMatchObject({ field: 'messages.0.role' });
  });

  it('is refused if text is empty (7.9 #17), except in a last assistant turn', () => {
    expect(refusalOf({ ...minimal, messages: [{ role: 'user', content: '' }] })).toMatchObject({ field: 'messages.0.content' });
    expect(refusalOf({ ...minimal, messages: [{ role: 'user', content: [] }] })).toMatchObject({ field: 'messages.0.content' });
    expect(refusalOf({ ...minimal, messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }).message).toContain(
      'text content blocks must be non-empty',
    );
    expect(refusalOf({ ...minimal, system: [{ type: 'text', text: '' }] })).toMatchObject({ field: 'system.0.text' });
    expect(refusalOf(after({ role: 'assistant', content: '' }, { role: 'user', content: 'hi' }))).toMatchObject({
      field: 'messages.1.content',
    });
    expect(parseMessages(after({ role: 'assistant', content: '' }), {}).request.prompt?.messages).toHaveLength(1);
  });

  it('must have a result for every call at the start of the next user turn (7.9 #14)', () => {
    const calls = { role: 'assistant', content: [text, use('a'), use('b')] };
    const accepted = [
      after(calls, { role: 'user', content: [result('b'), result('a'), text] }),
      after(calls, { role: 'system', content: 'x' }, { role: 'user', content: [result('a')] }, { role: 'user', content: [result('b')] }),
    ];
    for (const body of accepted) expect(() => parseMessages(body, {})).not.toThrow();

    expect(refusalOf(after(calls))).toMatchObject({ field: 'messages.1.content.1' });
    expect(refusalOf(after(calls, { role: 'user', content: [result('a')] }))).toMatchObject({ field: 'messages.1.content.2' });
    expect(refusalOf(after(calls, { role: 'user', content: [result('a'), text, result('b')] }))).toMatchObject({
      field: 'messages.2.content.2',
    });
    expect(refusalOf(after({ role: 'user', content: [result('c')] }))).toMatchObject({ field: 'messages.1.content.0.tool_use_id' });
    expect(refusalOf(after({ role: 'assistant', content: [use('a'), use('a')] }))).toMatchObject({ field: 'messages.1.content.1.id' });
  });

  it('may refer to deferred tools and leave results empty', () => {
    const results = [
      { ...result('a'), content: [{ type: 'tool_reference', tool_name: 'f' }] },
      { type: 'tool_result', tool_use_id: 'b' },
    ];
    const parsed = parseMessages(after({ role: 'assistant', content: [use('a'), use('b')] }, { role: 'user', content: results }), {});
    expect(shortly(parsed.request.prompt?.messages)[2]).toBe(
      'user: {"toolCallId":"a","text":"","isError":false,"content":[]} {"toolCallId":"b","text":"","isError":false,"content":[]}',
    );
    expect(parsed.request.native?.droppedElsewhere).toEqual(['tool_reference']);
  });
});

describe('a count_tokens request', () => {
  it('needs no max_tokens and follows the same rules', () => {
    const { max_tokens: _, ...body } = minimal;
    const parsed = parseCountTokens(
      { ...body, system: 'Be brief.', tools: [tool], thinking: { type: 'adaptive' } },
      { version: '2023-06-01' },
    );
    expect(parsed).toMatchObject({ model: 'm', droppedFields: [] });
    expect(parsed.request).toMatchObject({
      messagesVersion: '2023-06-01',
      reasoning: { disabled: false },
      prompt: { system: ['Be brief.'] },
    });
    expect(parsed.request.prompt.tools).toHaveLength(1);
    expect(() => parseCountTokens({ model: 'm' }, {})).toThrow('messages: Field required');
    expect(() => parseCountTokens(after({ role: 'assistant', content: [use('a')] }), {})).toThrow('tool_result');
  });
});
