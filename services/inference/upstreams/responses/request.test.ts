import { describe, expect, it } from '@jest/globals';
import { ApiFormat, CountTokensRequest, GenerateRequest, Role, ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import { encryptedContentOf, signatureOfItem } from '#rules/wire/reasoning-seals.js';
import { checkInputTokens, checkResponses } from '../../../../tests/upstream/checks/check-responses.js';
import { textRequest } from '../../testing/fixtures.js';
import { countTokensBody, responsesBody } from './request.js';
import { responsesWire } from './wire.js';

const openAi = { isOpenAi: true };
const other = { isOpenAi: false };
const longName = 'n'.repeat(100);
const strictSchema = '{"type":"object","properties":{},"required":[],"additionalProperties":false}';
const text = (value: string) => ({ part: { $case: 'text' as const, value: { text: value } } });
const png = { $case: 'data' as const, value: { mediaType: 'image/png', base64: 'iVBORw0KGgo=' } };

/** Everything that a request can contain. */
const full = GenerateRequest.fromPartial({
  callId: 'req_1',
  prompt: {
    system: ['Be brief.', 'Be kind.'],
    messages: [
      { role: Role.ROLE_USER, parts: [text('Weather'), text('and time?')] },
      {
        role: Role.ROLE_ASSISTANT,
        parts: [
          {
            part: {
              $case: 'reasoning',
              value: { text: 'Two tools.', signature: signatureOfItem({ id: 'rs_1', encryptedContent: 'gAA=' }) },
            },
          },
          { part: { $case: 'reasoning', value: { text: 'Of another vendor.', signature: 'sig' } } },
          text('One moment.'),
          { part: { $case: 'toolCall', value: { id: 'a', name: 'f', argumentsJson: '{"x":1}' } } },
          { part: { $case: 'toolCall', value: { id: 'b', name: longName, argumentsJson: '' } } },
          { part: { $case: 'toolCall', value: { id: 'c', name: 'patch', argumentsJson: '*** Begin', isCustom: true } } },
        ],
      },
      {
        role: Role.ROLE_USER,
        parts: [
          text('Here.'),
          { part: { $case: 'toolResult', value: { toolCallId: 'a', text: 'sun' } } },
          { part: { $case: 'toolResult', value: { toolCallId: 'b', text: 'no clock', isError: true } } },
          {
            part: {
              $case: 'toolResult',
              value: { toolCallId: 'c', content: [text('see'), { part: { $case: 'image', value: { source: png } } }] },
            },
          },
        ],
      },
      { role: Role.ROLE_SYSTEM, parts: [text('Hurry.')] },
      { role: Role.ROLE_USER, parts: [text('Go on.')] },
    ],
    tools: [
      { name: 'f', description: 'F', parametersJson: strictSchema, strict: true },
      { name: longName },
      { name: 'patch', custom: { grammarSyntax: 'lark', grammar: 'start: "x"' } },
    ],
    toolChoice: { mode: ToolChoice_Mode.MODE_NAMED, name: 'patch', disableParallelCalls: true },
  },
  maxOutputTokens: 50,
  sampling: { temperature: 0.5, topP: 0.9, topK: 5, seed: 7n, frequencyPenalty: 1, presencePenalty: -1 },
  reasoning: { effort: 'high', budgetTokens: 2000 },
  endUser: 'u1',
});

const bodyOf = (request: GenerateRequest, flavour = other, model = 'm') =>
  JSON.parse(responsesBody(request, model, flavour).json) as Record<string, unknown>;
const upstreamName = expect.stringMatching(/^n{47}_[0-9a-f]{16}$/);

describe('a responses request', () => {
  it('expresses everything in the canonical one', () => {
    const body = bodyOf(full);
    checkResponses(body);
    expect(body).toEqual({
      model: 'm',
      max_output_tokens: 50,
      store: false,
      user: 'u1',
      stream: true,
      instructions: 'Be brief.\nBe kind.',
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'Weather' },
            { type: 'input_text', text: 'and time?' },
          ],
        },
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Two tools.' }], encrypted_content: 'gAA=' },
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Of another vendor.' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'One moment.' }] },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x":1}' },
        { type: 'function_call', call_id: 'b', name: upstreamName, arguments: '{}' },
        { type: 'custom_tool_call', call_id: 'c', name: 'patch', input: '*** Begin' },
        { type: 'function_call_output', call_id: 'a', output: 'sun' },
        { type: 'function_call_output', call_id: 'b', output: 'Error: no clock' },
        {
          type: 'custom_tool_call_output',
          call_id: 'c',
          output: [
            { type: 'input_text', text: 'see' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' },
          ],
        },
        { type: 'message', role: 'user', content: 'Here.' },
        { type: 'message', role: 'system', content: 'Hurry.' },
        { type: 'message', role: 'user', content: 'Go on.' },
      ],
      tools: [
        { type: 'function', name: 'f', description: 'F', parameters: JSON.parse(strictSchema), strict: true },
        { type: 'function', name: upstreamName, parameters: { type: 'object', properties: {} }, strict: false },
        { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
      ],
      tool_choice: { type: 'custom', name: 'patch' },
      parallel_tool_calls: false,
      temperature: 0.5,
      top_p: 0.9,
      reasoning: { effort: 'high', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    });
    expect(responsesBody(full, 'm', other).dropped).toEqual(['top_k', 'seed', 'frequency_penalty', 'presence_penalty']);
  });

  it('is what OpenAI accepts: without reasoning of other vendors, sampling of a reasoning model, and obfuscation', () => {
    const body = bodyOf(full, openAi, 'gpt-5');
    checkResponses(body, { isOpenAi: true, refusesSampling: true, enforcesStrictTools: true });
    expect(body).toMatchObject({ safety_identifier: 'u1', stream_options: { include_obfuscation: false } });
    expect((body['input'] as { type: string; role?: string }[]).map(({ type, role }) => role ?? type)).toEqual(
      ['user', 'reasoning', 'assistant', 'function_call', 'function_call', 'custom_tool_call', 'function_call_output'].concat([
        'function_call_output',
        'custom_tool_call_output',
        'user',
        'developer',
        'user',
      ]),
    );
    expect(responsesBody(full, 'gpt-5', openAi).dropped).toEqual(expect.arrayContaining(['temperature', 'top_p']));
  });

  it('requests encrypted reasoning of models that reason, which others would reject', () => {
    const plain = textRequest('Hi');
    expect(bodyOf(plain, openAi, 'gpt-5')['include']).toEqual(['reasoning.encrypted_content']);
    expect(bodyOf(plain, openAi, 'gpt-4o')['include']).toBeUndefined();
    expect(bodyOf(plain, other)['include']).toBeUndefined();
    const effort = responsesBody(textRequest('Hi', { reasoning: { effort: 'low' } }), 'gpt-4o', openAi);
    expect([JSON.parse(effort.json).reasoning, effort.dropped]).toEqual([undefined, ['output_config.effort']]);
  });

  it('requests the form of the answer, with instructions where the vendor looks for the word JSON', () => {
    const request = (format: object): GenerateRequest =>
      GenerateRequest.fromPartial({
        ...textRequest('Hi'),
        prompt: { system: ['Write JSON.'], messages: textRequest('Hi').prompt!.messages },
        responseFormat: { format },
      } as never);
    const schema = request({ $case: 'jsonSchema', value: { name: 'w', description: '', schemaJson: strictSchema, strict: true } });
    expect(bodyOf(schema, openAi)['text']).toEqual({
      format: { type: 'json_schema', name: 'w', schema: JSON.parse(strictSchema), strict: true },
    });
    const object = bodyOf(request({ $case: 'jsonObject', value: {} }), openAi);
    checkResponses(object, { isOpenAi: true });
    expect(object).toMatchObject({ text: { format: { type: 'json_object' } }, input: [{ role: 'developer', content: 'Write JSON.' }, {}] });
    expect(object['instructions']).toBeUndefined();
  });

  it('marks cache breakpoints for models that have them, and says that it drops them for others', () => {
    const marked = GenerateRequest.fromPartial({
      ...textRequest('Hi'),
      prompt: {
        system: ['Long.'],
        systemCacheTtls: { 0: '5m' },
        messages: [{ role: Role.ROLE_USER, parts: [{ ...text('Hi'), cacheTtl: '5m' }] }],
      },
    });
    const breakpoint = { mode: 'explicit', ttl: '30m' };
    expect(bodyOf(marked, openAi, 'gpt-5.6')['input']).toMatchObject([
      { role: 'developer', content: [{ type: 'input_text', text: 'Long.', prompt_cache_breakpoint: breakpoint }] },
      { role: 'user', content: [{ type: 'input_text', text: 'Hi', prompt_cache_breakpoint: breakpoint }] },
    ]);
    expect(responsesBody(marked, 'gpt-5', openAi).dropped).toEqual(['cache_control']);
  });

  it('has documents as data, as text and by URL, and images by URL', () => {
    const document = (source: object) => ({
      part: { $case: 'document' as const, value: { source, title: 'T', context: '', filename: '' } },
    });
    const request = GenerateRequest.fromPartial({
      ...textRequest('Hi'),
      prompt: {
        messages: [
          {
            role: Role.ROLE_USER,
            parts: [
              document({ $case: 'data', value: { mediaType: 'application/pdf', base64: 'JVBERi0=' } }),
              document({ $case: 'text', value: 'plain' }),
              document({ $case: 'url', value: 'https://a.test/b.pdf' }),
              { part: { $case: 'image', value: { source: { $case: 'url', value: 'https://a.test/c.png' }, detail: 'high' } } },
            ],
          },
        ],
      },
    } as never);
    const body = bodyOf(request);
    checkResponses(body);
    expect(body['input']).toMatchObject([
      {
        content: [
          { type: 'input_text', text: 'Document: T' },
          { type: 'input_file', filename: 'T', file_data: 'data:application/pdf;base64,JVBERi0=' },
          { type: 'input_text', text: 'Document: T\nplain' },
          { type: 'input_file', file_url: 'https://a.test/b.pdf' },
          { type: 'input_image', image_url: 'https://a.test/c.png', detail: 'high' },
        ],
      },
    ]);
  });

  it('is refused by name where the format cannot express it', () => {
    const failure = (request: GenerateRequest, flavour = other): unknown => {
      try {
        return responsesBody(request, 'm', flavour);
      } catch (error) {
        return error;
      }
    };
    const rejected = (field: string) => ({ reason: 'unsupported_field', details: { field } });
    expect(failure(textRequest('Hi', { stopSequences: ['END'] }))).toMatchObject(rejected('stop_sequences'));
    expect(failure(textRequest('Hi', { maxOutputTokens: 0 }))).toMatchObject(rejected('max_tokens'));
    expect(failure(textRequest('Hi', { maxOutputTokens: 15 }), openAi)).toMatchObject({
      ...rejected('max_tokens'),
      message: 'max_tokens: must be at least 16 for this model',
    });
    const from = (format: ApiFormat) => ({ native: { format, fieldsJson: '{}' } });
    const chat = textRequest('Hi', { stopSequences: ['END'], ...from(ApiFormat.API_FORMAT_CHAT_COMPLETIONS) });
    expect(failure(chat)).toMatchObject(rejected('stop'));
    expect(failure(textRequest('Hi', { maxOutputTokens: 15, ...from(ApiFormat.API_FORMAT_RESPONSES) }), openAi)).toMatchObject({
      ...rejected('max_output_tokens'),
      message: 'max_output_tokens: must be at least 16 for this model',
    });
    expect(bodyOf(textRequest('Hi', { maxOutputTokens: 15 }))['max_output_tokens']).toBe(15);
  });

  it('is a whole answer if no stream is wanted', () => {
    expect(JSON.parse(responsesBody(textRequest('Hi'), 'm', openAi, false).json)).toEqual({
      model: 'm',
      max_output_tokens: 1000,
      store: false,
      input: [{ type: 'message', role: 'user', content: 'Hi' }],
    });
  });
});

describe('the body of a caller of the format', () => {
  const native = (fields: object, otherFields: object = {}): GenerateRequest =>
    textRequest('Hi', {
      endUser: 'u1',
      native: {
        format: ApiFormat.API_FORMAT_RESPONSES,
        fieldsJson: JSON.stringify(fields),
        otherFieldsJson: JSON.stringify(otherFields),
        vendorTools: [],
      },
    });

  it('keeps its own fields after ours', () => {
    const fields = { input: 'Hi', metadata: { a: 'b' }, top_logprobs: 3, include: ['message.output_text.logprobs'] };
    expect(bodyOf(native(fields), openAi, 'gpt-4o')).toEqual({
      model: 'gpt-4o',
      max_output_tokens: 1000,
      store: false,
      safety_identifier: 'u1',
      stream: true,
      stream_options: { include_obfuscation: false },
      ...fields,
    });
  });

  it('keeps reasoning with its id, and leaves out reasoning that the upstream cannot read', () => {
    const readable = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAA=' };
    const bare = { type: 'reasoning', id: 'rs_2', summary: [] };
    const ours = { ...readable, encrypted_content: encryptedContentOf({ text: 'T', signature: 's', redactedData: '' }) };
    const say = { role: 'developer', content: 'Say "type":"reasoning"' };
    const input = [readable, bare, ours, say];
    expect(bodyOf(native({ input }), openAi)['input']).toEqual([readable, say]);
    expect(bodyOf(native({ input }))['input']).toEqual([readable, bare, { ...say, role: 'system' }]);
    // Fields that need no change are passed on as they were written.
    const untouched = native({ input: [readable, { role: 'user', content: 'Hi' }] });
    expect(responsesBody(untouched, 'm', openAi).json).toContain(untouched.native!.fieldsJson.slice(1));
  });

  it('has those unknown fields that the server publishes or its operator allows', () => {
    const wire = responsesWire('u', 'https://vendor.test/v1', ['hologram']);
    const { json, dropped } = wire.generateBody(native({ input: 'Hi' }, { hologram: 1, min_p: 0.1, web_search: true }), 'm');
    expect(JSON.parse(json)).toMatchObject({ hologram: 1, min_p: 0.1 });
    expect(dropped).toEqual(['web_search']);
  });
});

describe('a count of tokens by the vendor', () => {
  it('is of the same prompt, without the fields that a count does not have', () => {
    const request = CountTokensRequest.fromPartial({ prompt: full.prompt });
    const body = JSON.parse(countTokensBody(request, 'gpt-5', openAi)) as Record<string, unknown>;
    checkInputTokens(body, { isOpenAi: true });
    expect(body).toMatchObject({ model: 'gpt-5', input: bodyOf(full, openAi)['input'], tools: bodyOf(full, openAi)['tools'] });
    const fields = { input: 'Hi', text: { verbosity: 'low' }, metadata: { a: 'b' } };
    const native = CountTokensRequest.fromPartial({
      prompt: full.prompt,
      native: { format: ApiFormat.API_FORMAT_RESPONSES, fieldsJson: JSON.stringify(fields) },
    });
    expect(JSON.parse(countTokensBody(native, 'm', openAi))).toEqual({ model: 'm', input: 'Hi', text: { verbosity: 'low' } });
  });

  it('is requested only from OpenAI, because other servers have none', () => {
    expect(responsesWire('u', 'https://api.openai.com/v1').count?.path).toBe('/responses/input_tokens');
    expect(responsesWire('u', 'https://vendor.test/v1').count).toBeUndefined();
  });
});

describe('searches of the vendor', () => {
  it('that the call can do without are sent where they are paid for or allowed, and dropped elsewhere', () => {
    const optionalToolJson = '{"type":"web_search"}';
    const vendorTools = [{ field: 'tools[1].type', type: 'web_search', unit: 'web_search', optionalToolJson }];
    const sent = (fields: object, count: number, allowed: string[] = []): unknown => {
      const native = { format: ApiFormat.API_FORMAT_RESPONSES, fieldsJson: JSON.stringify(fields), vendorTools };
      const unitCaps = count === 0 ? undefined : { counts: [{ unit: 'web_search', count }] };
      const request = textRequest('Hi', { native, maxOutputTokens: 100, unitCaps });
      const { json, dropped } = responsesWire('u', 'https://api.openai.com/v1', allowed).generateBody(request, 'm', true);
      const { tools, max_tool_calls: calls } = JSON.parse(json) as { tools?: { type: string }[]; max_tool_calls?: number };
      return { tools: tools?.map(({ type }) => type), calls, dropped };
    };
    const own = { input: 'Hi', tools: [{ type: 'function', name: 'f' }] };
    expect(sent(own, 4)).toEqual({ tools: ['function', 'web_search'], calls: 4, dropped: [] });
    expect(sent({ input: 'Hi' }, 4)).toEqual({ tools: ['web_search'], calls: 4, dropped: [] });
    expect(sent(own, 0, ['tools.web_search'])).toEqual({ tools: ['function', 'web_search'], calls: undefined, dropped: [] });
    expect(sent(own, 0)).toEqual({ tools: ['function'], calls: undefined, dropped: ['tools.web_search'] });
  });

  it('are limited to the number that the hold covers, or to the caller’s own limit', () => {
    const sent = (fields: object, count: number): unknown => {
      const vendorTools = [{ field: 'tools[0].type', type: 'web_search', unit: 'web_search' }];
      const fieldsJson = JSON.stringify({ input: 'Hi', tools: [{ type: 'web_search' }], ...fields });
      const native = { format: ApiFormat.API_FORMAT_RESPONSES, fieldsJson, vendorTools };
      const request = textRequest('Hi', { native, maxOutputTokens: 100, unitCaps: { counts: [{ unit: 'web_search', count }] } });
      return (JSON.parse(responsesWire('u', 'https://api.openai.com/v1').generateBody(request, 'm', true).json) as Record<string, unknown>)[
        'max_tool_calls'
      ];
    };
    expect([sent({}, 4), sent({ max_tool_calls: 9 }, 4), sent({ max_tool_calls: 2 }, 4)]).toEqual([4, 4, 2]);
  });
});
