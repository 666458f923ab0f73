// Field by field: how it is translated, what only upstreams of this format receive, and what is refused.
import { describe, expect, it } from '@jest/globals';
import { Modality } from '#proto/catalog/v1/catalog.js';
import type { ResponseFormat } from '#proto/inference/v1/inference.js';
import { AppError } from '#client/errors/app-error.js';
import type { ParsedCall } from '../format.js';
import { parseChatCompletions } from './request.js';

const minimal = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } };
const customTool = { type: 'custom', custom: { name: 'c', format: { type: 'text' } } };
const png = 'data:image/png;base64,iVBORw0KGgo=';
const pdf = 'data:application/pdf;base64,JVBERi0xLjQ=';
const mark = { type: 'ephemeral' };

/** Returns a body whose only user message has these parts. */
const saying = (...content: object[]): object => ({ model: 'm', messages: [{ role: 'user', content }] });
/** Returns a body with this assistant message, ending with the user. */
const answered = (message: object): object => ({
  model: 'm',
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', ...message },
  ],
});
/** Returns a body with a tool result of this content. */
const resulting = (content: unknown): object => ({
  model: 'm',
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'a', content },
  ],
});
const image = (url: string, more: object = {}): object => ({ type: 'image_url', image_url: { url, ...more } });
const file = (file_data: string, more: object = {}): object => ({ type: 'file', file: { file_data, ...more } });

const nativeOf = (body: object): Record<string, unknown> =>
  JSON.parse(parseChatCompletions(body).request.native!.fieldsJson) as Record<string, unknown>;
const partsOf = (body: object): unknown[] =>
  (parseChatCompletions(body).request.prompt?.messages.at(-1)?.parts ?? []).map(({ part, cacheTtl }) => ({
    [part!.$case]: part!.value,
    ...(cacheTtl === undefined ? {} : { cacheTtl }),
  }));

const modalities: Partial<Record<Modality, string>> = {
  [Modality.MODALITY_IMAGE]: 'image',
  [Modality.MODALITY_DOCUMENT]: 'document',
  [Modality.MODALITY_AUDIO]: 'audio',
};

interface Outcome {
  needs?: string[];
  images?: number;
  documents?: number;
  dropped?: string[];
  droppedElsewhere?: string[];
  refusedElsewhere?: string[];
  refused?: string;
}

function outcomeOf(body: object): Outcome {
  let parsed: ParsedCall;
  try {
    parsed = parseChatCompletions(body);
  } catch (error) {
    if (error instanceof AppError) return { refused: `${error.reason} ${error.details['field']}` };
    throw error;
  }
  const { droppedElsewhere, refusedElsewhere } = parsed.request.native!;
  const refusals = refusedElsewhere.map(({ field }) => field);
  return {
    ...(parsed.needs.length > 0 ? { needs: parsed.needs.map(({ modality, field }) => `${modalities[modality]} ${field}`) } : {}),
    ...(parsed.images > 0 ? { images: parsed.images } : {}),
    ...(parsed.documents > 0 ? { documents: parsed.documents } : {}),
    ...(parsed.droppedFields.length > 0 ? { dropped: parsed.droppedFields } : {}),
    ...(droppedElsewhere.length > 0 ? { droppedElsewhere } : {}),
    ...(refusals.length > 0 ? { refusedElsewhere: refusals } : {}),
  };
}

const honoured: Outcome = {};
const refused = (field: string): Outcome => ({ refused: `unsupported_field ${field}` });
const invalid = (field: string): Outcome => ({ refused: `invalid_request ${field}` });
const elsewhere = (field: string): Outcome => ({ refusedElsewhere: [field] });
const passed = (field: string): Outcome => ({ droppedElsewhere: [field] });
const dropped = (field: string): Outcome => ({ dropped: [field] });

describe('a field of a chat-completions request', () => {
  it.each<[string, object, Outcome]>([
    ['temperature', { temperature: 2 }, honoured],
    ['temperature', { temperature: 2.1 }, invalid('temperature')],
    ['top_p', { top_p: 1 }, honoured],
    ['top_p', { top_p: 1.1 }, invalid('top_p')],
    ['top_k', { top_k: 40 }, honoured],
    ['frequency_penalty', { frequency_penalty: -2 }, honoured],
    ['frequency_penalty', { frequency_penalty: -3 }, invalid('frequency_penalty')],
    ['presence_penalty', { presence_penalty: 2 }, honoured],
    ['presence_penalty', { presence_penalty: 3 }, invalid('presence_penalty')],
    ['logit_bias', { logit_bias: { 50256: -100 } }, passed('logit_bias')],
    ['logit_bias', { logit_bias: { 50256: -101 } }, invalid('logit_bias.50256')],
    ['logprobs', { logprobs: true }, elsewhere('logprobs')],
    ['logprobs', { logprobs: false }, honoured],
    ['top_logprobs', { logprobs: true, top_logprobs: 20 }, elsewhere('logprobs')],
    ['top_logprobs', { logprobs: true, top_logprobs: 21 }, invalid('top_logprobs')],
    ['top_logprobs alone', { top_logprobs: 2 }, invalid('top_logprobs')],
    ['top_logprobs of none', { top_logprobs: 0 }, honoured],
    ['n', { n: 1 }, honoured],
    ['n', { n: 128 }, elsewhere('n')],
    ['n', { n: 129 }, invalid('n')],
    ['n', { n: 0 }, invalid('n')],
    ['seed', { seed: -7 }, honoured],
    ['seed', { seed: 2 ** 63 }, invalid('seed')],
    ['stop', { stop: ['a', 'b', 'c', 'd'] }, honoured],
    ['stop', { stop: ['a', 'b', 'c', 'd', 'e'] }, invalid('stop')],
    ['stream_options', { stream: true, stream_options: { include_usage: true, include_obfuscation: false } }, honoured],
    ['max_tokens', { max_tokens: 5, max_completion_tokens: 6 }, honoured],
    ['max_completion_tokens', { max_completion_tokens: 0 }, invalid('max_completion_tokens')],
    ['response_format', { response_format: { type: 'text' } }, honoured],
    ['response_format', { response_format: { type: 'json_object' } }, honoured],
    ['response_format', { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {}, strict: true } } }, honoured],
    [
      'response_format',
      { response_format: { type: 'json_schema', json_schema: { name: 'a b', schema: {} } } },
      invalid('response_format.json_schema.name'),
    ],
    [
      'response_format',
      { response_format: { type: 'json_schema', json_schema: { name: 'a'.repeat(65), schema: {} } } },
      invalid('response_format.json_schema.name'),
    ],
    [
      'response_format',
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: [] } } },
      invalid('response_format.json_schema.schema'),
    ],
    ['response_format', { response_format: { type: 'json_schema' } }, invalid('response_format.json_schema')],
    ['response_format', { response_format: { type: 'grammar', grammar: 'x' } }, elsewhere('response_format.type')],
    ['reasoning_effort', { reasoning_effort: 'xhigh' }, honoured],
    ['reasoning_effort', { reasoning_effort: 'ultra' }, elsewhere('reasoning_effort')],
    ['reasoning', { reasoning: { effort: 'high' } }, honoured],
    ['reasoning', { reasoning: { max_tokens: 2000, exclude: true } }, passed('reasoning.exclude')],
    ['reasoning', { reasoning: { effort: 'ultra' } }, elsewhere('reasoning.effort')],
    ['thinking', { thinking: { type: 'enabled', budget_tokens: 2000 } }, honoured],
    ['thinking', { thinking: { type: 'dreaming' } }, elsewhere('thinking.type')],
    ['thinking beside an effort', { reasoning_effort: 'low', thinking: { type: 'disabled' } }, passed('thinking')],
    ['verbosity', { verbosity: 'low' }, passed('verbosity')],
    ['modalities', { modalities: ['text'] }, honoured],
    ['modalities', { modalities: ['text', 'audio'] }, refused('modalities[1]')],
    ['audio', { audio: { format: 'mp3', voice: 'a' } }, refused('audio')],
    ['prediction', { prediction: { type: 'content', content: 'x' } }, dropped('prediction')],
    ['moderation that scores', { moderation: { model: 'x', policy: { input: { mode: 'score' } } } }, dropped('moderation')],
    ['moderation that blocks', { moderation: { policy: { output: { mode: 'block' } } } }, refused('moderation.policy.output.mode')],
    ['web_search_options', { web_search_options: {} }, elsewhere('web_search_options')],
    ['search_parameters', { search_parameters: {} }, refused('search_parameters')],
    ['enable_search', { enable_search: true }, refused('enable_search')],
    ['plugins', { plugins: [{ id: 'web' }] }, refused('plugins')],
    ['metadata', { metadata: { a: 'b' } }, passed('metadata')],
    ['metadata', { metadata: { a: 'x'.repeat(513) } }, invalid('metadata.a')],
    ['metadata', { metadata: { ['k'.repeat(65)]: 'x' } }, invalid(`metadata.${'k'.repeat(64)}`)],
    ['metadata', { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 'x'])) }, invalid('metadata')],
    ['store', { store: true }, dropped('store')],
    ['service_tier', { service_tier: 'priority' }, dropped('service_tier')],
    ['user', { user: 'alice' }, honoured],
    ['safety_identifier', { safety_identifier: 'alice' }, honoured],
    ['prompt_cache_key', { prompt_cache_key: 'k' }, passed('prompt_cache_key')],
    ['prompt_cache_options', { prompt_cache_options: { mode: 'explicit' } }, passed('prompt_cache_options')],
    ['prompt_cache_retention', { prompt_cache_retention: '24h' }, passed('prompt_cache_retention')],
    ['a future field', { min_p: 0.1 }, passed('min_p')],
    ['a field that leads to another model', { models: ['x/dear'] }, dropped('models')],
    ['a field that leads to another server', { api_base: 'https://evil.example' }, dropped('api_base')],
    ['a field that some servers treat as another one', { Max_Tokens: 1e6 }, dropped('Max_Tokens')],
    ['a field that holds an id of a file', { corpus: { file_ids: ['file-1'] } }, refused('corpus.file_ids')],
    ['tools', { tools: [tool] }, honoured],
    ['no tools', { tools: [], tool_choice: 'auto', parallel_tool_calls: true }, honoured],
    [
      'tools with parameters that are not a schema',
      { tools: [{ type: 'function', function: { name: 'f', parameters: 'x' } }] },
      invalid('tools[0].function.parameters'),
    ],
    ['tools with additional fields', { tools: [{ ...tool, defer_loading: true }] }, passed('tools.defer_loading')],
    ['tools with a cache mark', { tools: [{ ...tool, cache_control: mark }] }, honoured],
    ['custom tools', { tools: [customTool] }, honoured],
    [
      'custom tools with a grammar',
      {
        tools: [
          { type: 'custom', custom: { name: 'c', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } } } },
        ],
      },
      honoured,
    ],
    [
      'custom tools with a grammar without a syntax',
      { tools: [{ type: 'custom', custom: { name: 'c', format: { type: 'grammar', grammar: { definition: 'x' } } } }] },
      invalid('tools[0].custom.format.grammar.syntax'),
    ],
    [
      'custom tools of a future form',
      { tools: [{ type: 'custom', custom: { name: 'c', format: { type: 'poem' } } }] },
      elsewhere('tools[0].custom.format.type'),
    ],
    ['custom tools with additional fields', { tools: [{ ...customTool, defer_loading: true }] }, passed('tools.defer_loading')],
    ['custom tools without a name', { tools: [{ type: 'custom', custom: {} }] }, invalid('tools[0].custom.name')],
    ['tools of a future type', { tools: [tool, { type: 'teleport' }] }, elsewhere('tools[1].type')],
    ['tools that the vendor runs', { tools: [{ type: 'openrouter:web_search' }] }, elsewhere('tools[0].type')],
    ['tools that hold ids of files', { tools: [{ type: 'reader', file_ids: ['file-1'] }] }, refused('tools[0].file_ids')],
    ['tool_choice', { tools: [tool], tool_choice: 'required' }, honoured],
    ['tool_choice', { tools: [tool], tool_choice: { type: 'function', function: { name: 'f' } } }, honoured],
    [
      'tool_choice',
      {
        tools: [tool],
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] } },
      },
      honoured,
    ],
    [
      'tool_choice',
      { tools: [tool], tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'sometimes', tools: [] } } },
      invalid('tool_choice.allowed_tools.mode'),
    ],
    ['tool_choice', { tools: [customTool], tool_choice: { type: 'custom', custom: { name: 'c' } } }, honoured],
    ['tool_choice', { tools: [tool], tool_choice: 'whenever' }, elsewhere('tool_choice')],
    ['tool_choice', { tools: [tool], tool_choice: { type: 'whenever' } }, elsewhere('tool_choice.type')],
    ['tool_choice', { tools: [tool], tool_choice: 7 }, invalid('tool_choice')],
    ['functions', { functions: [{ name: 'f' }], function_call: { name: 'f' } }, honoured],
    ['functions', { functions: [{ name: 'a b' }] }, invalid('functions[0].name')],
    ['function_call', { functions: [{ name: 'f' }], function_call: 'sometimes' }, invalid('function_call')],
  ])('%s: %j is %j', (_name, fields, expected) => {
    expect(outcomeOf({ ...minimal, ...fields })).toEqual(expected);
  });

  it.each<[string, object, Outcome]>([
    ['an image in base64', saying(image(png)), { needs: ['image messages[0].content[0]'], images: 1 }],
    [
      'an image by url',
      saying(image('HTTPS://example.com/a.png', { detail: 'low' })),
      { needs: ['image messages[0].content[0]'], images: 1 },
    ],
    ['an image by a url that is not encrypted', saying(image('http://example.com/a.png')), invalid('messages[0].content[0].image_url.url')],
    ['an image by a path', saying(image('file:///etc/passwd')), invalid('messages[0].content[0].image_url.url')],
    ['an image that is not in base64', saying(image('data:image/svg+xml,<svg/>')), invalid('messages[0].content[0].image_url.url')],
    ['an image that is not an image', saying(image(pdf)), invalid('messages[0].content[0].image_url.url')],
    [
      'an image of a type that few models accept',
      saying(image('data:image/tiff;base64,AAAA')),
      { needs: ['image messages[0].content[0]'], images: 1, refusedElsewhere: ['messages[0].content[0].image_url.url'] },
    ],
    [
      'an image of an unknown detail',
      saying(image(png, { detail: 'microscopic' })),
      { needs: ['image messages[0].content[0]'], images: 1, droppedElsewhere: ['image_url.detail'] },
    ],
    ['an image at a vendor', saying(image(png, { file_id: 'file-1' })), refused('messages[0].content[0].image_url.file_id')],
    ['a PDF', saying(file(pdf, { filename: 'a.pdf' })), { needs: ['document messages[0].content[0]'], documents: 1 }],
    ['a PDF without the head of a data URI', saying(file('JVBERi0xLjQ=')), { needs: ['document messages[0].content[0]'], documents: 1 }],
    ['a file by url', saying(file('https://example.com/a.pdf')), { needs: ['document messages[0].content[0]'], documents: 1 }],
    ['a text file', saying(file('data:text/plain;charset=utf-8;base64,aGk=')), honoured],
    ['a text file with malformed escapes', saying(file('data:text/plain,100%')), invalid('messages[0].content[0].file.file_data')],
    [
      'a file of another type',
      saying(file('data:application/msword;base64,AAAA')),
      { needs: ['document messages[0].content[0]'], documents: 1, refusedElsewhere: ['messages[0].content[0].file.file_data'] },
    ],
    ['a file of no type', saying(file('AAAA')), invalid('messages[0].content[0].file.file_data')],
    ['a file without data', saying({ type: 'file', file: { filename: 'a.pdf' } }), invalid('messages[0].content[0].file.file_data')],
    ['a file at a vendor', saying({ type: 'file', file: { file_id: 'file-1' } }), refused('messages[0].content[0].file.file_id')],
    [
      'audio',
      saying({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
      { needs: ['audio messages[0].content[0]'], refusedElsewhere: ['messages[0].content[0].type'] },
    ],
    [
      'a part of a future type',
      saying({ type: 'hologram', hologram: {} }),
      { documents: 1, refusedElsewhere: ['messages[0].content[0].type'] },
    ],
    [
      'a part of a future type with a vendor’s file',
      saying({ type: 'hologram', hologram: { file_id: 'file-1' } }),
      refused('messages[0].content[0].hologram.file_id'),
    ],
    ['a part without a type', saying({ text: 'x' }), invalid('messages[0].content[0].type')],
    [
      'cache marks',
      saying({ type: 'text', text: 'x', cache_control: mark }, { type: 'text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit' } }),
      honoured,
    ],
    [
      'a cache mark without a price',
      saying({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '9h' } }),
      invalid('messages[0].content[0].cache_control.ttl'),
    ],
    ['a name', { model: 'm', messages: [{ role: 'user', name: 'alice', content: 'x' }] }, passed('messages.name')],
    ['an unknown role', { model: 'm', messages: [{ role: 'oracle', content: 'x' }] }, refused('messages[0].role')],
    [
      'an answer as the library replays it',
      answered({ content: 'x', refusal: null, annotations: [], audio: null, function_call: null, tool_calls: null }),
      honoured,
    ],
    ['an answer that was refused', answered({ content: [{ type: 'refusal', refusal: 'no' }] }), honoured],
    ['an answer that was spoken', answered({ audio: { id: 'audio_1' } }), refused('messages[1].audio')],
    [
      'an answer with a part of a future type',
      answered({ content: [{ type: 'hologram' }] }),
      { documents: 1, refusedElsewhere: ['messages[1].content[0].type'] },
    ],
    [
      'an answer with an image',
      answered({ content: [{ type: 'text', text: 'x' }, image(png)] }),
      { needs: ['image messages[1].content[1]'], images: 1, refusedElsewhere: ['messages[1].content[1].type'] },
    ],
    [
      'instructions with an image',
      { model: 'm', messages: [{ role: 'system', content: [image(png)] }, ...minimal.messages] },
      { needs: ['image messages[0].content[0]'], images: 1, refusedElsewhere: ['messages[0].content[0].type'] },
    ],
    [
      'later instructions with a text file',
      { model: 'm', messages: [...minimal.messages, { role: 'developer', content: [file('data:text/plain;base64,aGk=')] }] },
      elsewhere('messages[1].content[0].type'),
    ],
    ['annotations', answered({ content: 'x', annotations: [{ type: 'url_citation' }] }), passed('messages.annotations')],
    [
      'reasoning by any name',
      answered({ content: 'x', reasoning: 'r', reasoning_content: 'r', reasoning_details: [{ type: 'reasoning.text', text: 'r' }] }),
      honoured,
    ],
    [
      'a call of a custom tool',
      {
        model: 'm',
        messages: [
          ...minimal.messages,
          { role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'c', input: 'x' } }] },
          { role: 'tool', tool_call_id: 'a', content: 'y' },
        ],
      },
      honoured,
    ],
    [
      'a call of a future type',
      {
        model: 'm',
        messages: [
          ...minimal.messages,
          { role: 'assistant', tool_calls: [{ id: 'a', type: 'teleport' }] },
          { role: 'tool', tool_call_id: 'a', content: 'y' },
        ],
      },
      elsewhere('messages[1].tool_calls[0].type'),
    ],
    [
      'a call without a type',
      {
        model: 'm',
        messages: [...minimal.messages, { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: {} } }] }],
      },
      invalid('messages[1].tool_calls[0].function.arguments'),
    ],
    [
      'a result with an image',
      resulting([{ type: 'text', text: 'see' }, image(png)]),
      { needs: ['image messages[2].content[1]'], images: 1 },
    ],
    ['an empty result', resulting([]), honoured],
    [
      'a function result without its call',
      {
        model: 'm',
        messages: [
          { role: 'user', content: 'hi' },
          { role: 'function', name: 'f', content: 'x' },
        ],
      },
      invalid('messages[1].role'),
    ],
  ])('%s is handled as expected', (_name, body, expected) => {
    expect(outcomeOf(body)).toEqual(expected);
  });
});

describe('the meaning of a chat-completions request', () => {
  it('has images and documents, with the caller’s information about them', () => {
    expect(
      partsOf(saying(image(png, { detail: 'high' }), image('https://example.com/a.png'), image('data:image/jpg;base64,AAAA'))),
    ).toEqual([
      { image: { source: { $case: 'data', value: { mediaType: 'image/png', base64: 'iVBORw0KGgo=' } }, detail: 'high' } },
      { image: { source: { $case: 'url', value: 'https://example.com/a.png' }, detail: '' } },
      { image: { source: { $case: 'data', value: { mediaType: 'image/jpeg', base64: 'AAAA' } }, detail: '' } },
    ]);
    const about = { title: '', context: '' };
    expect(
      partsOf(
        saying(
          file(pdf, { filename: 'a.pdf' }),
          file('data:text/markdown;base64,w6k='),
          file('data:,a%20b'),
          file('https://example.com/a.pdf'),
        ),
      ),
    ).toEqual([
      {
        document: {
          source: { $case: 'data', value: { mediaType: 'application/pdf', base64: 'JVBERi0xLjQ=' } },
          ...about,
          filename: 'a.pdf',
        },
      },
      { document: { source: { $case: 'text', value: 'é' }, ...about, filename: '' } },
      { document: { source: { $case: 'text', value: 'a b' }, ...about, filename: '' } },
      { document: { source: { $case: 'url', value: 'https://example.com/a.pdf' }, ...about, filename: '' } },
    ]);
  });

  it('has the content of a tool result if it is more than text', () => {
    expect(partsOf(resulting([{ type: 'text', text: 'see' }, image(png)]))).toMatchObject([
      { toolResult: { toolCallId: 'a', text: '', content: [{ part: { $case: 'text' } }, { part: { $case: 'image' } }] } },
    ]);
    expect(partsOf(resulting([]))).toEqual([{ toolResult: { toolCallId: 'a', text: '', isError: false, content: [] } }]);
  });

  it('has cache marks on instructions, parts, messages, results and tools', () => {
    const body = {
      model: 'm',
      tools: [
        { ...tool, cache_control: { type: 'ephemeral', ttl: '1h' } },
        { type: 'function', function: { name: 'g', cache_control: mark } },
      ],
      messages: [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'one' },
            { type: 'text', text: 'two', cache_control: { type: 'ephemeral', ttl: '1h' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } },
            { ...image(png), prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } },
          ],
        },
        {
          role: 'assistant',
          content: 'b',
          cache_control: mark,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'c', cache_control: mark }] },
      ],
    };
    const { prompt } = parseChatCompletions(body).request;
    expect(prompt?.systemCacheTtls).toEqual({ 1: '1h' });
    expect(prompt?.tools.map(({ cacheTtl }) => cacheTtl)).toEqual(['1h', '5m']);
    expect(prompt?.messages.map(({ parts }) => parts.map(({ cacheTtl }) => cacheTtl))).toEqual([['5m', '1h'], [undefined, '5m'], ['5m']]);
    expect(nativeOf(body)).toEqual({ tools: body.tools, messages: body.messages });
  });

  it.each<[object, object | undefined]>([
    [{ reasoning_effort: 'none' }, { effort: 'none', budgetTokens: undefined, disabled: true }],
    [
      { reasoning_effort: 'max', reasoning: { effort: 'low' } },
      { effort: 'max', budgetTokens: undefined, disabled: false },
    ],
    [{ reasoning_effort: 'ultra' }, undefined],
    [{ reasoning: { effort: 'minimal' } }, { effort: 'minimal', budgetTokens: undefined, disabled: false }],
    [
      { reasoning: { max_tokens: 2000 }, thinking: { type: 'disabled' } },
      { effort: '', budgetTokens: 2000, disabled: false },
    ],
    [{ reasoning: { enabled: false } }, { effort: '', budgetTokens: undefined, disabled: true }],
    [{ reasoning: {} }, undefined],
    [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, { effort: '', budgetTokens: 1024, disabled: false }],
    [{ thinking: { type: 'adaptive' } }, { effort: '', budgetTokens: undefined, disabled: false }],
    [{ thinking: { type: 'disabled' } }, { effort: '', budgetTokens: undefined, disabled: true }],
  ])('has the reasoning of %j', (fields, expected) => {
    expect(parseChatCompletions({ ...minimal, ...fields }).request.reasoning).toEqual(expected);
  });

  it.each<[object, ResponseFormat['format']]>([
    [{ type: 'json_object' }, { $case: 'jsonObject', value: {} }],
    [
      { type: 'json_schema', json_schema: { name: 'a' } },
      { $case: 'jsonObject', value: {} },
    ],
    [
      { type: 'json_schema', json_schema: { name: 'a', description: 'd', schema: { type: 'object' }, strict: true } },
      { $case: 'jsonSchema', value: { name: 'a', description: 'd', schemaJson: '{"type":"object"}', strict: true } },
    ],
  ])('has the form %j', (format, expected) => {
    expect(parseChatCompletions({ ...minimal, response_format: format }).request.responseFormat).toEqual({ format: expected });
  });

  it('has reasoning from the most complete of its fields', () => {
    const reasoningOf = (message: object): unknown[] => partsOf(answered({ content: 'x', ...message })).slice(0, -1);
    const plain = { reasoning: { text: 'r', signature: '', redactedData: '' } };
    expect(reasoningOf({ reasoning: 'r' })).toEqual([plain]);
    expect(reasoningOf({ reasoning: 'r', reasoning_content: 'r' })).toEqual([plain]);
    expect(
      reasoningOf({
        reasoning: 'r',
        reasoning_details: [
          { type: 'reasoning.text', text: 'r', signature: 'sig', format: 'anthropic-claude-v1', index: 0 },
          { type: 'reasoning.encrypted', data: 'sealed', format: 'anthropic-claude-v1' },
          { type: 'reasoning.encrypted', data: 'for another', format: 'openai-responses-v1' },
        ],
      }),
    ).toEqual([
      { reasoning: { text: 'r', signature: 'sig', redactedData: '' } },
      { reasoning: { text: '', signature: '', redactedData: 'sealed' } },
    ]);
  });

  it('has the requested number of answers', () => {
    expect(parseChatCompletions({ ...minimal, n: 3 }).request.choices).toBe(3);
    expect(parseChatCompletions(minimal).request.choices).toBe(1);
  });
});

describe('the fields for upstreams of the format', () => {
  it("are the caller's body without fields that are ours, have no effect, or are null", () => {
    const rest = {
      messages: minimal.messages,
      temperature: 1,
      tools: [{ ...tool, vendor: 1 }],
      tool_choice: 'auto',
      parallel_tool_calls: false,
    };
    const ours = {
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 5,
      max_completion_tokens: 6,
      user: 'alice',
      safety_identifier: 'bob',
    };
    const none = {
      store: true,
      service_tier: 'auto',
      prediction: {},
      moderation: {},
      models: ['x'],
      api_key: 'sk-x',
      MODEL: 'x',
      ['ſtream']: true,
      logit_bias: null,
      stop: null,
    };
    // Which of these a server receives depends on what servers of its kind publish.
    const others = {
      min_p: 0.1,
      vendor: { nested: [null] },
      thinking: { type: 'enabled', budget_tokens: 9 },
      reasoning: { effort: 'low' },
    };
    const { fieldsJson, otherFieldsJson } = parseChatCompletions({ ...ours, ...none, ...rest, ...others }).request.native!;
    expect([JSON.parse(fieldsJson), JSON.parse(otherFieldsJson)]).toEqual([rest, others]);
    expect(parseChatCompletions({ ...rest, model: 'm' }).request.native?.fieldsJson).toBe(JSON.stringify(rest));
  });

  it("do not contain the caller's names of its users", () => {
    const { fieldsJson } = parseChatCompletions({ ...minimal, user: 'alice', safety_identifier: 'alice', prompt_cache_key: 'alice' })
      .request.native!;
    expect(fieldsJson).not.toContain('alice');
    expect(JSON.parse(fieldsJson)).toMatchObject({ prompt_cache_key: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it('do not share a vendor cache with another account that chose the same key', () => {
    const keyOf = (accountId: string): unknown =>
      JSON.parse(parseChatCompletions({ ...minimal, prompt_cache_key: 'shared' }, { accountId }).request.native!.fieldsJson)[
        'prompt_cache_key'
      ];
    expect(keyOf('acct_a')).toBe(keyOf('acct_a'));
    expect(keyOf('acct_a')).not.toBe(keyOf('acct_b'));
  });

  it('do not contain fields that the official library adds to replayed answers', () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    const result = { role: 'tool', tool_call_id: 'a', content: '1' };
    const noted = {
      role: 'assistant',
      content: null,
      parsed: null,
      tool_calls: [{ ...call, function: { ...call.function, parsed_arguments: {} } }],
    };
    const body = {
      model: 'm',
      messages: [...minimal.messages, noted, result, { role: 'assistant', content: '{"a":1}', parsed: { a: 1 } }],
    };
    expect(nativeOf(body)['messages']).toEqual([
      ...minimal.messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      result,
      { role: 'assistant', content: '{"a":1}' },
    ]);
    expect(outcomeOf(body)).toEqual(honoured);
  });

  it('do not contain empty fields of an answer, which vendors reject in a conversation', () => {
    const empty = { refusal: null, annotations: [], audio: null, function_call: null, tool_calls: null };
    const messages = [
      ...minimal.messages,
      { role: 'assistant', content: 'a', ...empty },
      ...minimal.messages,
      { role: 'assistant', content: 'b', tool_calls: [] },
      ...minimal.messages,
    ];
    const kept = [
      ...minimal.messages,
      { role: 'assistant', content: 'a' },
      ...minimal.messages,
      { role: 'assistant', content: 'b' },
      ...minimal.messages,
    ];
    expect(nativeOf({ model: 'm', messages, stop: [] })).toEqual({ messages: kept });
  });

  it('do not contain null in a function description', () => {
    const described = { type: 'function', function: { name: 'g', description: null, parameters: null, strict: null, vendor: null } };
    expect(nativeOf({ ...minimal, tools: [tool, described] })['tools']).toEqual([
      tool,
      { type: 'function', function: { name: 'g', vendor: null } },
    ]);
  });

  it('contain a tool of a vendor unchanged, whatever its fields are', () => {
    const tools = [{ type: 'web_search', function: null }];
    expect(nativeOf({ ...minimal, tools })).toEqual({ messages: minimal.messages, tools });
  });

  it('keep media of other roles, which the common prompt does not have', () => {
    const content = [{ type: 'text', text: 'x' }, image(png)];
    const { prompt, native } = parseChatCompletions(answered({ content })).request;
    expect(JSON.parse(native!.fieldsJson)).toMatchObject({ messages: expect.arrayContaining([{ role: 'assistant', content }]) });
    expect(prompt?.messages.flatMap(({ parts }) => parts.map(({ part }) => part?.$case))).not.toContain('image');
  });

  it('do not contain a tool choice without tools', () => {
    expect(nativeOf({ ...minimal, tools: [], tool_choice: 'none', parallel_tool_calls: true })).toEqual({ messages: minimal.messages });
  });

  it('contain tools where the caller sends functions', () => {
    const body = {
      model: 'm',
      functions: [{ name: 'f', parameters: { type: 'object' }, vendor: 1 }],
      function_call: { name: 'f' },
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"a":1}' } },
        { role: 'function', name: 'f', content: 'one' },
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: null },
      ],
    };
    const call = (id: string, args: string): object => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: args } }],
    });
    expect(nativeOf(body)).toEqual({
      tools: [{ type: 'function', function: body.functions[0] }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      messages: [
        body.messages[0],
        call('call_function_1', '{"a":1}'),
        { role: 'tool', tool_call_id: 'call_function_1', name: 'f', content: 'one' },
        call('call_function_3', '{}'),
        { role: 'tool', tool_call_id: 'call_function_3', name: 'f', content: '' },
      ],
    });
    expect(partsOf(body)).toMatchObject([{ toolResult: { toolCallId: 'call_function_3' } }]);
    expect(parseChatCompletions(body).request.prompt).toMatchObject({ tools: [{ name: 'f' }], toolChoice: { name: 'f' } });
  });
});

describe('the bound of the input', () => {
  it('covers fields that only upstreams of the format receive', () => {
    const bound = (fields: object): number => parseChatCompletions({ ...minimal, ...fields }).inputTokensMax;
    const base = bound({});
    expect(bound({ vendor: 'x'.repeat(100) })).toBe(base + 102);
    expect(bound({ response_format: { type: 'json_object' } })).toBe(base + 22);
    expect(bound({ tools: [{ type: 'teleport' }] })).toBe(base + 2048 + 19);
    expect(bound({ messages: [{ role: 'user', content: 'hi', vendor: 'x'.repeat(100) }] })).toBe(base + 102);
    expect(bound(saying({ type: 'text', text: 'hi', vendor: 'x'.repeat(100) }))).toBe(base + 102);
    const thinking = (...blocks: object[]): number =>
      bound({ messages: [...minimal.messages, { role: 'assistant', content: 'a', thinking_blocks: blocks }] });
    const block = { type: 'thinking', thinking: 'hm', signature: 's' };
    expect(thinking(block, { ...block, vendor: 'x'.repeat(100) })).toBe(thinking(block, block) + 131);
    expect(thinking(block, { type: 'novel', pages: 'x'.repeat(100) })).toBe(thinking(block) + 127);
    const tools = ['f', 'g'].map((name) => ({ type: 'function', function: { name } }));
    const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [tools[0]] } };
    expect(bound({ tools, tool_choice: allowed })).toBe(bound({ tools }));
    const vendor = 'x'.repeat(100);
    const calling = (...calls: object[]): number =>
      parseChatCompletions({
        model: 'm',
        messages: [
          ...minimal.messages,
          { role: 'assistant', tool_calls: calls },
          ...['a', 'b'].map((id) => ({ role: 'tool', tool_call_id: id, content: '' })),
        ],
      }).inputTokensMax;
    const [f, c] = [
      { name: 'f', arguments: '{}' },
      { name: 'c', input: '' },
    ];
    const plain = calling({ id: 'a', function: f }, { id: 'b', type: 'custom', custom: c });
    expect(calling({ id: 'a', vendor, function: { ...f, vendor } }, { id: 'b', type: 'custom', vendor, custom: { ...c, vendor } })).toBe(
      plain + 4 * 102,
    );
    expect(calling({ id: 'a', index: 0, function: { ...f, parsed_arguments: {} } }, { id: 'b', type: 'custom', custom: c })).toBe(plain);
  });
});
