import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { raisedBy } from '#kit/testing/waiting.js';
import { ApiFormat, Role, ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import { encryptedContentOf, signatureOfItem } from '#rules/wire/reasoning-seals.js';
import type { ParsedCall } from '../format.js';
import { clientRequests } from '../testing/requests.js';
import { parseResponses } from './request.js';

const parse = (fields: object): ParsedCall => parseResponses({ model: 'm', input: 'Hi', ...fields });
const fieldsOf = (fields: object): Record<string, unknown> =>
  JSON.parse(parse(fields).request.native!.fieldsJson) as Record<string, unknown>;
const user = (content: unknown): object => ({ role: 'user', content });
const call = (id: string, fields: object = {}): object => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}', ...fields });
const output = (id: string, text: unknown = 'ok'): object => ({ type: 'function_call_output', call_id: id, output: text });
const faultOf = (fields: object) => raisedBy(() => parse(fields));
const f = { type: 'function', name: 'f', parameters: { type: 'object' }, strict: true };
/** What a message says, in short. */
const said = ({ request }: ParsedCall): string[] =>
  request.prompt!.messages.map(
    ({ role, parts }) =>
      `${Role[role].slice(5).toLowerCase()}: ${parts.map(({ part }) => (part?.$case === 'toolCall' || part?.$case === 'toolResult' ? `${part.$case} ${'id' in part.value ? part.value.id : part.value.toolCallId}` : part?.$case)).join(', ')}`,
  );

describe('the requests of Codex', () => {
  /** Returns the tool that upstreams receive only if they may run it. */
  function searchIn({ request }: ParsedCall): unknown {
    const { vendorTools, droppedElsewhere } = request.native!;
    expect(vendorTools).toMatchObject([{ type: 'web_search', unit: 'web_search' }]);
    expect(droppedElsewhere).toContain('tools.web_search');
    return JSON.parse(vendorTools[0]!.optionalToolJson!);
  }

  const { 'codex-first': first, 'codex-tool-turn': turn } = clientRequests('responses');

  it('are understood, and only its search depends on the upstream', () => {
    const parsed = parseResponses(first, { originator: 'codex_exec' });
    expect(parsed.droppedFields).toEqual([]);
    expect(parsed.request.native).toMatchObject({ format: ApiFormat.API_FORMAT_RESPONSES, refusedElsewhere: [] });
    expect(searchIn(parsed)).toMatchObject({ type: 'web_search' });
    expect(parsed.request.prompt!.system).toHaveLength(3);
    expect(parsed.request.prompt!.tools.map(({ name }) => name)).toEqual([
      'exec_command',
      'view_image',
      'multi_agent_v1__close_agent',
      'multi_agent_v1__resume_agent',
    ]);
    const sent = JSON.parse(parsed.request.native!.fieldsJson) as { tools: { type: string }[]; store?: unknown; prompt_cache_key: string };
    expect(sent.tools.map(({ type }) => type)).toEqual(['function', 'function', 'namespace']);
    expect(sent).not.toHaveProperty('store');
    expect(sent.prompt_cache_key).toMatch(/^[0-9a-f]{64}$/);
    expect(parsed.request.native!.otherFieldsJson).toContain('client_metadata');
  });

  it('may have tools in the input, and a search among tools that only upstreams of the format receive', () => {
    const { 'codex-additional-tools': additional, 'codex-tool-search': search } = clientRequests('responses');
    const parsed = parseResponses(additional, { originator: 'codex_exec' });
    expect(searchIn(parsed)).toMatchObject({ type: 'web_search' });
    expect(parsed.request.prompt!.tools.map(({ name, custom }) => [name, custom !== undefined])).toEqual([
      ['functions__exec', true],
      ['functions__wait', false],
      ['functions__request_user_input', false],
    ]);
    expect(parsed.request.prompt!.toolChoice).toMatchObject({ disableParallelCalls: true });
    const sent = JSON.parse(parsed.request.native!.fieldsJson) as { input: { tools: object[] }[]; parallel_tool_calls: boolean };
    expect(sent.input[0]!.tools).toHaveLength(1);
    expect(sent.parallel_tool_calls).toBe(false);
    const searching = parseResponses(search, { originator: 'codex_exec' });
    expect(searching.request.prompt!.tools.map(({ name }) => name)).toEqual(['exec_command', 'apply_patch']);
    expect(searching.request.native).toMatchObject({ refusedElsewhere: [] });
    expect(searchIn(searching)).toMatchObject({ type: 'web_search' });
    expect(searching.request.native!.droppedElsewhere).toContain('tools.tool_search');
  });

  it('have their tool calls answered in one message, whatever namespace the tool is in', () => {
    const parsed = parseResponses(turn, { originator: 'codex_exec' });
    expect(said(parsed).slice(-2)).toEqual([
      'assistant: reasoning, toolCall call_1, toolCall call_2',
      'user: toolResult call_1, toolResult call_2',
    ]);
    expect(parsed.request.prompt!.messages.at(-2)!.parts.at(-1)).toMatchObject({
      part: { value: { name: 'multi_agent_v1__close_agent' } },
    });
    expect(parsed.echo!.toolNames.get('multi_agent_v1__close_agent')).toEqual({ namespace: 'multi_agent_v1', name: 'close_agent' });
  });
});

describe('the input', () => {
  it('may be text, or items with images, files and instructions at any place', () => {
    const parsed = parse({
      instructions: 'Be brief.',
      input: [
        { type: 'message', role: 'developer', content: 'In French.' },
        user([
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQ=' },
          { type: 'input_file', file_url: 'https://example.com/b.pdf' },
        ]),
        { role: 'system', content: 'Now in German.' },
      ],
    });
    expect(parsed.request.prompt!.system).toEqual(['Be brief.', 'In French.']);
    expect(said(parsed)).toEqual(['user: text, image, document, document', 'system: text']);
    expect(parsed).toMatchObject({ images: 1, documents: 2 });
  });

  it('has the results right after their calls, wherever the caller put them', () => {
    const input = [user('go'), call('a'), { role: 'developer', content: 'Hurry.' }, call('b'), output('b'), output('a')];
    expect(said(parse({ input }))).toEqual([
      'user: text',
      'assistant: toolCall a',
      'user: toolResult a',
      'system: text',
      'assistant: toolCall b',
      'user: toolResult b',
    ]);
  });

  it('is refused with the field and the fix where calls and outputs do not match', () => {
    expect(faultOf({ input: [user('go'), call('a')] })).toMatchObject({
      message: expect.stringContaining('input[1]: the call "a" has no output'),
    });
    expect(faultOf({ input: [user('go'), output('a')] }).message).toContain('input[1].call_id: there is no call "a" before it');
    expect(faultOf({ input: [user('go'), call('a'), call('a'), output('a')] }).message).toContain(
      'input[2].call_id: "a" is the id of two calls',
    );
    expect(faultOf({ input: [user('go'), call('a'), output('a'), output('a')] }).message).toContain(
      'input[3].call_id: "a" is the id of two outputs',
    );
  });

  it('keeps free text of custom tools, and results with images', () => {
    const input = [
      user('go'),
      { type: 'custom_tool_call', call_id: 'a', name: 'patch', input: '*** Begin' },
      { type: 'custom_tool_call_output', call_id: 'a', output: [{ type: 'input_image', image_url: 'https://example.com/a.png' }] },
    ];
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' };
    const { prompt } = parse({ input, tools: [{ type: 'custom', name: 'patch', format }] }).request;
    expect(prompt!.tools).toEqual([
      { name: 'patch', description: '', parametersJson: '', custom: { grammarSyntax: 'lark', grammar: 'start: "x"' } },
    ]);
    expect(prompt!.messages[1]!.parts).toMatchObject([{ part: { value: { id: 'a', argumentsJson: '*** Begin', isCustom: true } } }]);
    expect(prompt!.messages[2]!.parts).toMatchObject([{ part: { value: { toolCallId: 'a', content: [{ part: { $case: 'image' } }] } } }]);
  });
});

describe('reasoning in the input', () => {
  const partOf = (item: object): unknown => {
    const [message] = parse({ input: [{ type: 'reasoning', summary: [], ...item }, user('go')] }).request.prompt!.messages;
    return message!.parts[0]!.part?.value;
  };

  it('of another format is as its upstream sent it, and is not sent to upstreams of this format', () => {
    const reasoning = { text: 'Hmm.', signature: 'EqQB', redactedData: '' };
    const item = {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'changed' }],
      encrypted_content: encryptedContentOf(reasoning),
    };
    expect(partOf(item)).toEqual(reasoning);
    expect(fieldsOf({ input: [item, user('go')] })['input']).toEqual([user('go')]);
  });

  it('of a responses upstream keeps its id alongside its content, and reaches such an upstream unchanged', () => {
    const item = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Sum.' }], encrypted_content: 'gAAA' };
    expect(partOf(item)).toEqual({ text: 'Sum.', signature: signatureOfItem({ id: 'rs_1', encryptedContent: 'gAAA' }), redactedData: '' });
    expect(fieldsOf({ input: [item, user('go')] })['input']).toEqual([item, user('go')]);
  });
});

it('loses what the official library adds to answers, for upstreams that would reject it', () => {
  const item = { ...call('a'), id: 'fc_1', parsed_arguments: {} };
  const said_ = {
    type: 'message',
    role: 'assistant',
    id: 'msg_1',
    content: [{ type: 'output_text', text: '{}', annotations: [], parsed: {} }],
  };
  expect(fieldsOf({ input: [user('go'), said_, item, output('a')] })['input']).toEqual([
    user('go'),
    { ...said_, content: [{ type: 'output_text', text: '{}', annotations: [] }] },
    { ...call('a'), id: 'fc_1' },
    output('a'),
  ]);
});

it('passes on items of a vendor unchanged, whatever their fields are', () => {
  const item = { type: 'vendor_item', content: ['text', null, { parsed: 1 }] };
  expect(fieldsOf({ input: [item, user('Hi')] })['input']).toEqual([item, user('Hi')]);
});

describe('tools', () => {
  it.each([
    ['none', { tool_choice: 'none' }, { mode: ToolChoice_Mode.MODE_NONE }],
    ['a function', { tool_choice: { type: 'function', name: 'f' } }, { mode: ToolChoice_Mode.MODE_NAMED, name: 'f' }],
    ['one at a time', { parallel_tool_calls: false }, { mode: ToolChoice_Mode.MODE_AUTO, disableParallelCalls: true }],
    [
      'some of them',
      { tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] } },
      { mode: ToolChoice_Mode.MODE_REQUIRED },
    ],
  ])('may be chosen: %s', (_, choice, expected) => {
    expect(parse({ tools: [f], ...choice }).request.prompt!.toolChoice).toMatchObject(expected);
  });

  it('that a vendor runs are left to upstreams whose operator allows them, with their unit if they can have a price', () => {
    const { native } = parse({
      tools: [f, { type: 'web_search' }, { type: 'web_search_preview_2025_03_11' }, { type: 'computer' }],
    }).request;
    expect(native!.vendorTools.map(({ field, type, unit }) => [field, type, unit])).toEqual([
      ['tools[1].type', 'web_search', 'web_search'],
      ['tools[2].type', 'web_search_preview_2025_03_11', 'web_search'],
      ['tools[3].type', 'computer', ''],
    ]);
    expect(native!.refusedElsewhere).toHaveLength(3);
  });

  it.each([
    [1, 1],
    [40, 40],
    [null, undefined],
    [0, undefined],
    ['2', undefined],
  ])('that a vendor runs may be called as often as max_tool_calls says: %j', (calls, maxUses) => {
    const { request, echo } = parse({ tools: [{ type: 'web_search' }], max_tool_calls: calls });
    expect(request.native!.vendorTools[0]!.maxUses).toBe(maxUses);
    expect(echo!.fields['max_tool_calls']).toBe(calls);
  });

  it('must have different names, and a choice must name one of them', () => {
    expect(faultOf({ tools: [f, f] }).message).toContain('tools[1].name: "f" is the name of an earlier tool');
    expect(faultOf({ tools: [f], tool_choice: { type: 'function', name: 'g' } }).message).toContain('there is no tool named "g"');
  });
});

describe('other fields', () => {
  it('are honoured', () => {
    const schema = { type: 'object', properties: {} };
    const { request, maxOutputTokens, streaming } = parse({
      max_output_tokens: 50,
      stream: true,
      temperature: 0.5,
      reasoning: { effort: 'high', summary: 'auto' },
      text: { format: { type: 'json_schema', name: 'a', schema, strict: true }, verbosity: 'low' },
      user: 'u',
    });
    expect({ maxOutputTokens, streaming }).toEqual({ maxOutputTokens: 50, streaming: true });
    expect(request).toMatchObject({
      sampling: { temperature: 0.5 },
      reasoning: { effort: 'high' },
      responseFormat: { format: { $case: 'jsonSchema', value: { name: 'a', schemaJson: JSON.stringify(schema), strict: true } } },
      endUser: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(request.native!.droppedElsewhere).toEqual(['text.verbosity']);
  });

  it.each([
    [{ previous_response_id: 'resp_1' }, 'previous_response_id', 'send the whole conversation in input'],
    [{ conversation: 'conv_1' }, 'conversation', 'send previous_response_id'],
    [{ background: true }, 'background', 'use "stream": true'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt', 'send their text as instructions and input'],
    [{ context_management: [{ type: 'compaction' }] }, 'context_management', 'send a shorter conversation'],
    [{ reasoning: { mode: 'pro' } }, 'reasoning.mode', 'leave it out'],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0].type', '"store" is false'],
    [{ input: [{ type: 'compaction', encrypted_content: 'x' }] }, 'input[0].type', 'send the conversation itself'],
    [{ input: [user([{ type: 'input_file', file_id: 'file_1' }])] }, 'input[0].content[0].file_id', 'send the content itself'],
  ])('are refused by name with the fix: %j', (fields, field, fix) => {
    expect(faultOf(fields)).toMatchObject({
      reason: 'unsupported_field',
      message: expect.stringMatching(new RegExp(`^${field.replaceAll(/[[\].]/g, String.raw`\$&`)}:`)),
    });
    expect(faultOf(fields).message).toContain(fix);
  });

  it.each([
    [{ input: undefined }, 'input'],
    [{ input: [] }, 'input'],
    [{ input: [{ role: 'tool', content: 'x' }] }, 'input[0].role'],
    [{ input: [{ type: 'function_call', call_id: 'a', name: 'f' }] }, 'input[0].arguments'],
    [{ max_output_tokens: 0 }, 'max_output_tokens'],
    [{ text: { format: { type: 'json_schema', name: 'a' } } }, 'text.format.schema'],
    [{ input: [{ role: 'developer', content: 'Only rules.' }] }, 'input'],
  ])('that are malformed are named: %j', (fields, field) => {
    expect(faultOf(fields)).toMatchObject({ reason: 'invalid_request', details: { field } });
  });
});

it('keeps every text, tool and argument of a generated conversation in order, and holds for all of it', () => {
  const text = fc.string({ minLength: 1, unit: 'grapheme' });
  const words = fc.record({ role: fc.constantFrom('user', 'assistant', 'developer'), content: text });
  const calls = fc.array(fc.record({ arguments: fc.json(), output: text, isCustom: fc.boolean() }), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(fc.array(fc.oneof(words, calls), { maxLength: 6 }), (turns) => {
      const expected: string[] = ['Hi'];
      const input: object[] = [user('Hi')];
      for (const [turn, each] of turns.entries()) {
        if (!Array.isArray(each)) {
          input.push(each);
          expected.push(each.content);
          continue;
        }
        const ids = each.map((_, index) => `call_${turn}_${index}`);
        for (const [index, { arguments: json, isCustom }] of each.entries())
          input.push(
            isCustom ? { type: 'custom_tool_call', call_id: ids[index], name: 'p', input: json } : call(ids[index]!, { arguments: json }),
          );
        for (const [index, { output: said_, isCustom }] of each.entries())
          input.push({ ...output(ids[index]!, said_), ...(isCustom ? { type: 'custom_tool_call_output' } : {}) });
        expected.push(...each.map((one) => one.arguments), ...each.map((one) => one.output));
      }
      const parsed = parse({ input });
      const texts = parsed.request.prompt!.messages.flatMap(({ parts }) =>
        parts.map(({ part }) => (part?.$case === 'toolCall' ? part.value.argumentsJson : (part!.value as { text: string }).text)),
      );
      expect(texts).toEqual(expected);
      expect(fieldsOf({ input })['input']).toEqual(input);
      expect(parsed.inputTokensMax).toBeGreaterThanOrEqual(Buffer.byteLength(expected.join('')));
      expect(parsed.request.native!.refusedElsewhere).toEqual([]);
    }),
  );
});

it('holds for fields that only a model behind this format reads', () => {
  const bound = (fields: object): number => parse({ input: [{ ...user('Hi'), ...fields }] }).inputTokensMax;
  expect(bound({ vendor_notes: 'x'.repeat(1000) }) - bound({})).toBeGreaterThan(1000);
  const content = (annotations: unknown[]): object => ({ content: [{ type: 'input_text', text: 'Hi', annotations }] });
  expect(bound(content([{ quote: 'x'.repeat(1000) }])) - bound(content([]))).toBeGreaterThan(1000);
  const found = { type: 'web_search_call', id: 'ws_1', action: { query: 'x'.repeat(1000) } };
  const searched = parse({ input: [user('Hi'), found] });
  expect(searched.inputTokensMax).toBeGreaterThan(1000);
  expect(searched.request.native).toMatchObject({ droppedElsewhere: ['input.web_search_call'], refusedElsewhere: [] });
  expect(searched.documents).toBe(0);
  const output_ = { type: 'computer_screenshot', image_url: 'https://example.com/screen.png' };
  expect(parse({ input: [user('Hi'), { type: 'computer_call_output', call_id: 'a', output: output_ }] }).documents).toBe(1);
});
