// Field by field: what becomes of it in the meaning, what only upstreams of this format get, and what is refused.
import { describe, expect, it } from '@jest/globals';
import { Modality } from '#proto/catalog/v1/catalog.js';
import type { Part, Prompt, Reasoning, ResponseFormat } from '#proto/inference/v1/inference.js';
import { AppError } from '#client/errors/app-error.js';
import type { FormatHeaders, ParsedCall } from '../format.js';
import { parseMessages } from './request.js';

const tool = { name: 'f', input_schema: { type: 'object', properties: {} } };
const minimal = { model: 'm', max_tokens: 5000, messages: [{ role: 'user', content: 'hi' }] };
const mark = { type: 'ephemeral' };

/** A body whose only message of the user has these blocks. */
const saying = (...content: object[]): object => ({ ...minimal, messages: [{ role: 'user', content }] });
/** A body with this block in a message of the assistant. */
const answered = (block: object): object => ({
  ...minimal,
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [{ type: 'text', text: 'x' }, block] },
    { role: 'user', content: 'on' },
  ],
});
/** A body with a tool result of this content. */
const resulting = (content: unknown, more: object = {}): object => ({
  ...minimal,
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content, ...more }] },
  ],
});

interface Outcome {
  /** Of the last message. */
  parts?: unknown[];
  needs?: string[];
  images?: number;
  documents?: number;
  dropped?: string[];
  droppedElsewhere?: string[];
  refusedElsewhere?: string[];
  reason?: string;
  field?: string;
}

function outcomeOf(body: object, headers: FormatHeaders = { version: '2023-06-01' }): Outcome {
  let parsed: ParsedCall;
  try {
    parsed = parseMessages(body, headers);
  } catch (error) {
    if (error instanceof AppError) return { reason: error.reason, field: error.details['field']! };
    throw error;
  }
  const { droppedElsewhere = [], refusedElsewhere = [] } = parsed.request.native ?? {};
  const refusals = refusedElsewhere.map(({ field }) => field);
  return {
    parts: (parsed.request.prompt?.messages.at(-1)?.parts ?? []).map(shortly),
    ...(parsed.needs.length > 0 ? { needs: parsed.needs.map(({ modality, field }) => `${modalities[modality]} ${field}`) } : {}),
    ...(parsed.images > 0 ? { images: parsed.images } : {}),
    ...(parsed.documents > 0 ? { documents: parsed.documents } : {}),
    ...(parsed.droppedFields.length > 0 ? { dropped: parsed.droppedFields } : {}),
    ...(droppedElsewhere.length > 0 ? { droppedElsewhere } : {}),
    ...(refusals.length > 0 ? { refusedElsewhere: refusals } : {}),
  };
}

const modalities: Partial<Record<Modality, string>> = { [Modality.MODALITY_IMAGE]: 'image', [Modality.MODALITY_DOCUMENT]: 'document' };

/** A part without its empty fields. */
function shortly({ part, cacheTtl }: Part): unknown {
  const value = Object.entries(part!.value).flatMap(([name, field]: [string, unknown]) => {
    if (field === '' || field === false || (Array.isArray(field) && field.length === 0)) return [];
    return [[name, name === 'content' ? (field as Part[]).map(shortly) : field]];
  });
  return { [part!.$case]: Object.fromEntries(value) as unknown, ...(cacheTtl === undefined ? {} : { cacheTtl }) };
}

const png = { type: 'base64', media_type: 'image/png', data: 'cG5n' };
const pdf = { type: 'base64', media_type: 'application/pdf', data: 'cGRm' };
const webPdf = { type: 'url', url: 'https://a.test/a.pdf' };
const data = (mediaType: string, base64: string): object => ({ source: { $case: 'data', value: { mediaType, base64 } } });
const sourceText = (value: string): object => ({ source: { $case: 'text', value } });
const image = (source: object, more: object = {}): object => ({ type: 'image', source, ...more });
const document = (source: object, more: object = {}): object => ({ type: 'document', source, ...more });
const text = (words: string, more: object = {}): object => ({ type: 'text', text: words, ...more });
const found = { type: 'search_result', source: 'https://a.test', title: 'A', content: [text('one'), text('two')] };
const fileSource = { type: 'file', file_id: 'file_1' };

describe('a block of the user', () => {
  it.each<[string, object, Outcome]>([
    ['text', text('a'), { parts: [{ text: { text: 'a' } }] }],
    ['text with a cache mark', text('a', { cache_control: mark }), { parts: [{ text: { text: 'a' }, cacheTtl: '5m' }] }],
    ['text cached for an hour', text('a', { cache_control: { ...mark, ttl: '1h' } }), { parts: [{ text: { text: 'a' }, cacheTtl: '1h' }] }],
    ['text without a mark', text('a', { cache_control: null, citations: null }), { parts: [{ text: { text: 'a' } }] }],
    [
      'text with citations',
      text('a', { citations: [{ type: 'char_location' }] }),
      { parts: [{ text: { text: 'a' } }], droppedElsewhere: ['citations'] },
    ],
    ['an image', image(png), { parts: [{ image: data('image/png', 'cG5n') }], images: 1, needs: ['image messages.0.content.0'] }],
    [
      'an image by url',
      image({ type: 'url', url: 'https://a.test/a.png' }),
      { parts: [{ image: { source: { $case: 'url', value: 'https://a.test/a.png' } } }], images: 1, needs: ['image messages.0.content.0'] },
    ],
    [
      'an image to be transformed',
      image(png, { transformations: [{}] }),
      {
        parts: [{ image: data('image/png', 'cG5n') }],
        images: 1,
        needs: ['image messages.0.content.0'],
        droppedElsewhere: ['image.transformations'],
      },
    ],
    [
      'an image of a newer type',
      image({ ...png, media_type: 'image/avif' }),
      {
        parts: [{ image: data('image/avif', 'cG5n') }],
        images: 1,
        needs: ['image messages.0.content.0'],
        refusedElsewhere: ['messages.0.content.0.source.media_type'],
      },
    ],
    [
      'an image of unknown source',
      image({ type: 'hologram' }),
      {
        parts: [],
        images: 1,
        documents: 1,
        needs: ['image messages.0.content.0'],
        refusedElsewhere: ['messages.0.content.0.source.type'],
      },
    ],
    [
      'a PDF',
      document(pdf, { title: 'T', context: 'C' }),
      {
        parts: [{ document: { ...data('application/pdf', 'cGRm'), title: 'T', context: 'C' } }],
        documents: 1,
        needs: ['document messages.0.content.0'],
      },
    ],
    [
      'a PDF by url',
      document(webPdf),
      {
        parts: [{ document: { source: { $case: 'url', value: webPdf.url } } }],
        documents: 1,
        needs: ['document messages.0.content.0'],
        refusedElsewhere: ['messages.0.content.0.source.type'],
      },
    ],
    [
      'a text document',
      document({ type: 'text', media_type: 'text/plain', data: 'words' }, { title: 'T', citations: { enabled: true } }),
      { parts: [{ document: { ...sourceText('words'), title: 'T' } }], droppedElsewhere: ['citations'] },
    ],
    ['a document of one content', document({ type: 'content', content: 'words' }), { parts: [{ document: sourceText('words') }] }],
    [
      'a document of text and images',
      document({ type: 'content', content: [text('one'), image(png), text('two')] }, { cache_control: mark }),
      {
        parts: [{ document: sourceText('one\ntwo') }, { image: data('image/png', 'cG5n'), cacheTtl: '5m' }],
        images: 1,
        needs: ['image messages.0.content.0.source.content.1'],
      },
    ],
    [
      'a document of another type',
      document({ ...pdf, media_type: 'application/x' }),
      {
        parts: [{ document: data('application/x', 'cGRm') }],
        documents: 1,
        needs: ['document messages.0.content.0'],
        refusedElsewhere: ['messages.0.content.0.source.media_type'],
      },
    ],
    [
      'a document of unknown source',
      document({ type: 'hologram' }),
      { parts: [], documents: 1, needs: ['document messages.0.content.0'], refusedElsewhere: ['messages.0.content.0.source.type'] },
    ],
    ['a search result', found, { parts: [{ text: { text: 'A (https://a.test)\none\ntwo' } }] }],
    [
      'a block of unknown kind',
      { type: 'hologram', data: 1 },
      { parts: [], documents: 1, refusedElsewhere: ['messages.0.content.0.type'] },
    ],
    ['a change of the tools at hand', { type: 'tool_addition', tool_name: 'f' }, { parts: [], droppedElsewhere: ['tool_addition'] }],
    ['a browser’s state', { type: 'browser_state' }, { parts: [], refusedElsewhere: ['messages.0.content.0.type'] }],
    [
      'a container upload without an id',
      { type: 'container_upload' },
      { parts: [], documents: 1, refusedElsewhere: ['messages.0.content.0.type'] },
    ],
    [
      'a container upload',
      { type: 'container_upload', file_id: 'file_1' },
      { reason: 'unsupported_field', field: 'messages.0.content.0.file_id' },
    ],
    ['an image in a vendor’s file', image(fileSource), { reason: 'unsupported_field', field: 'messages.0.content.0.source.type' }],
    ['a document in a vendor’s file', document(fileSource), { reason: 'unsupported_field', field: 'messages.0.content.0.source.type' }],
    [
      'a vendor’s file in something unknown',
      { type: 'hologram', parts: [{ file_id: 'file_1' }] },
      { reason: 'unsupported_field', field: 'messages.0.content.0.parts.0.file_id' },
    ],
    [
      'an image that is none',
      image({ ...png, media_type: 'text/plain' }),
      { reason: 'invalid_request', field: 'messages.0.content.0.source.media_type' },
    ],
    ['an image without data', image({ ...png, data: '' }), { reason: 'invalid_request', field: 'messages.0.content.0.source.data' }],
    ['an image without a source', { type: 'image' }, { reason: 'invalid_request', field: 'messages.0.content.0.source' }],
    [
      'an image at an insecure url',
      image({ type: 'url', url: 'http://a.test' }),
      { reason: 'invalid_request', field: 'messages.0.content.0.source.url' },
    ],
    [
      'a document at no url',
      document({ type: 'url', url: 'file:///etc/passwd' }),
      { reason: 'invalid_request', field: 'messages.0.content.0.source.url' },
    ],
    ['empty text', text(''), { reason: 'invalid_request', field: 'messages.0.content.0.text' }],
    [
      'a mark of unknown lifetime',
      text('a', { cache_control: { ...mark, ttl: '24h' } }),
      { reason: 'invalid_request', field: 'messages.0.content.0.cache_control.ttl' },
    ],
    [
      'a mark of unknown lifetime on something unknown',
      { type: 'hologram', cache_control: { ...mark, ttl: '24h' } },
      { reason: 'invalid_request', field: 'messages.0.content.0.cache_control.ttl' },
    ],
    ['a call', { type: 'tool_use', id: 'a', name: 'f', input: {} }, { reason: 'invalid_request', field: 'messages.0.content.0.type' }],
    ['thinking', { type: 'thinking', thinking: 'a', signature: 'b' }, { reason: 'invalid_request', field: 'messages.0.content.0.type' }],
    ['a block without a type', { text: 'a' }, { reason: 'invalid_request', field: 'messages.0.content.0.type' }],
  ])('that is %s', (_what, block, outcome) => {
    expect(outcomeOf(saying(block))).toEqual(outcome);
  });

  it('may have only an empty list of citations on its text since 2026-10-21', () => {
    const recent = { version: '2026-10-21' };
    expect(outcomeOf(saying(text('a', { citations: [{}] })), recent)).toEqual({
      reason: 'invalid_request',
      field: 'messages.0.content.0.citations',
    });
    expect(outcomeOf(saying(text('a', { citations: [] })), recent)).toMatchObject({ parts: [{ text: { text: 'a' } }] });
  });
});

describe('a tool result', () => {
  const of = (result: object): object[] => [{ toolResult: { toolCallId: 'a', ...result } }];
  const at = 'messages.2.content.0.content.0';

  it.each<[string, object, Outcome]>([
    ['text', resulting('ok'), { parts: of({ text: 'ok' }) }],
    ['an error', resulting('no', { is_error: true }), { parts: of({ text: 'no', isError: true }) }],
    ['nothing', resulting(null), { parts: of({}) }],
    ['an empty text', resulting(''), { parts: of({}) }],
    ['an empty list', resulting([]), { parts: of({}) }],
    ['blocks of text', resulting([text('a'), text('b')]), { parts: of({ text: 'a\nb' }) }],
    [
      'a marked block of text',
      resulting([text('a', { cache_control: mark })]),
      { parts: of({ content: [{ text: { text: 'a' }, cacheTtl: '5m' }] }) },
    ],
    [
      'text and an image',
      resulting([text('a'), image(png)]),
      {
        parts: of({ content: [{ text: { text: 'a' } }, { image: data('image/png', 'cG5n') }] }),
        images: 1,
        needs: ['image messages.2.content.0.content.1'],
      },
    ],
    [
      'a PDF',
      resulting([document(pdf)]),
      { parts: of({ content: [{ document: data('application/pdf', 'cGRm') }] }), documents: 1, needs: [`document ${at}`] },
    ],
    ['a search result', resulting([found]), { parts: of({ text: 'A (https://a.test)\none\ntwo' }) }],
    [
      'a reference to a tool',
      resulting([{ type: 'tool_reference', tool_name: 'f' }]),
      { parts: of({}), droppedElsewhere: ['tool_reference'] },
    ],
    ['something unknown', resulting([{ type: 'browser_state', tabs: [] }]), { parts: of({}), refusedElsewhere: [`${at}.type`] }],
    ['another tool result', resulting([{ type: 'tool_result', tool_use_id: 'a' }]), { reason: 'invalid_request', field: `${at}.type` }],
    ['a vendor’s file', resulting([image(fileSource)]), { reason: 'unsupported_field', field: `${at}.source.type` }],
    ['empty text in a block', resulting([text('')]), { reason: 'invalid_request', field: `${at}.text` }],
  ])('that is %s', (_what, body, outcome) => {
    expect(outcomeOf(body)).toEqual(outcome);
  });
});

describe('a block of the assistant', () => {
  const partOf = (block: object, headers?: FormatHeaders): Outcome => {
    const { parts: _on, ...outcome } = outcomeOf(answered(block), headers);
    return outcome;
  };
  const at = 'messages.1.content.1';

  it.each<[string, object, Outcome]>([
    [
      'a vendor’s search',
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { file_id: 'a word of the model' } },
      { droppedElsewhere: ['server_tool_use'] },
    ],
    ['what it found', { type: 'web_search_tool_result', tool_use_id: 's', content: [] }, { droppedElsewhere: ['web_search_tool_result'] }],
    [
      'what code printed',
      { type: 'bash_code_execution_tool_result', tool_use_id: 's', content: {} },
      { droppedElsewhere: ['bash_code_execution_tool_result'] },
    ],
    [
      'what code wrote',
      { type: 'code_execution_tool_result', content: { content: [{ file_id: 'file_1' }] } },
      { reason: 'unsupported_field', field: `${at}.content.content.0.file_id` },
    ],
    [
      'a call of a remote tool',
      { type: 'mcp_tool_use', id: 's', name: 'f', server_name: 'x', input: {} },
      { droppedElsewhere: ['mcp_tool_use'] },
    ],
    ['its result', { type: 'mcp_tool_result', tool_use_id: 's', content: [] }, { droppedElsewhere: ['mcp_tool_result'] }],
    ['a change of model', { type: 'fallback' }, { droppedElsewhere: ['fallback'] }],
    ['a summary by the vendor', { type: 'compaction', content: 'so far …' }, { refusedElsewhere: [`${at}.type`] }],
    ['a document', document({ type: 'text', media_type: 'text/plain', data: 'words' }), { refusedElsewhere: [`${at}.type`] }],
    ['an image', image(png), { reason: 'invalid_request', field: `${at}.type` }],
    ['a tool result', { type: 'tool_result', tool_use_id: 'a' }, { reason: 'invalid_request', field: `${at}.type` }],
    ['a call without arguments', { type: 'tool_use', id: 'a', name: 'f' }, { reason: 'invalid_request', field: `${at}.input` }],
  ])('that is %s', (_what, block, outcome) => {
    const { parts: _on, ...rest } = outcomeOf(answered(block));
    expect(rest).toEqual(outcome);
  });

  it('cannot be a document since 2026-10-21', () => {
    expect(partOf(document({ type: 'text', media_type: 'text/plain', data: 'words' }), { version: '2026-10-21' })).toEqual({
      reason: 'invalid_request',
      field: `${at}.type`,
    });
  });

  it('can be thinking, signed or not', () => {
    const partsOf = (block: object): unknown[] =>
      parseMessages(answered(block), {}).request.prompt!.messages[1]!.parts.slice(1).map(shortly);
    expect(partsOf({ type: 'thinking', thinking: 'a', signature: 's' })).toEqual([{ reasoning: { text: 'a', signature: 's' } }]);
    expect(partsOf({ type: 'thinking', thinking: '', signature: 's' })).toEqual([{ reasoning: { signature: 's' } }]);
    expect(partsOf({ type: 'thinking', thinking: 'a', signature: '' })).toEqual([{ reasoning: { text: 'a' } }]);
    expect(partsOf({ type: 'thinking', thinking: 'a' })).toEqual([{ reasoning: { text: 'a' } }]);
    expect(partsOf({ type: 'thinking', thinking: '', signature: '' })).toEqual([]);
    expect(partsOf({ type: 'redacted_thinking', data: 'd' })).toEqual([{ reasoning: { redactedData: 'd' } }]);
  });
});

describe('a field of the body', () => {
  const parts = [{ text: { text: 'hi' } }];
  const compact = { edits: [{ type: 'clear_thinking_20251015' }, { type: 'compact_20260112' }] };

  it.each<[string, object, Outcome]>([
    ['max_tokens 0', { max_tokens: 0 }, { parts }],
    ['an automatic cache mark', { cache_control: mark }, { parts: [{ text: { text: 'hi' }, cacheTtl: '5m' }] }],
    [
      'context_management',
      { context_management: { edits: [{ type: 'clear_thinking_20251015' }] } },
      { parts, droppedElsewhere: ['context_management'] },
    ],
    [
      'context_management with compaction',
      { context_management: compact },
      { reason: 'unsupported_field', field: 'context_management.edits.1.type' },
    ],
    [
      'what changes the price or the account',
      { service_tier: 'auto', speed: 'fast', inference_geo: 'us', container: 'c', diagnostics: {} },
      { parts, dropped: ['service_tier', 'speed', 'inference_geo', 'container', 'diagnostics'] },
    ],
    ['a field of tomorrow', { future_field: 1, another: null }, { parts, droppedElsewhere: ['future_field'] }],
    [
      'a vendor’s file in a field of tomorrow',
      { future_field: { file_id: 'file_1' } },
      { reason: 'unsupported_field', field: 'future_field.file_id' },
    ],
    ['who it is for, in another format’s words', { user: 'alice' }, { parts, dropped: ['user'], droppedElsewhere: ['user'] }],
    ['more about who it is for', { metadata: { user_id: 'u', team: 't' } }, { parts, dropped: ['metadata.team'] }],
    ...['mcp_servers', 'compaction', 'thread', 'fallbacks', 'fallback_credit_token', 'billing_policy'].map(
      (field): [string, object, Outcome] => [field, { [field]: [] }, { reason: 'unsupported_field', field }],
    ),
    ['thinking of unknown kind', { thinking: { type: 'deep' } }, { parts, refusedElsewhere: ['thinking.type'] }],
    ['thinking between tools', { thinking: { type: 'between_tools' } }, { parts, droppedElsewhere: ['thinking.between_tools'] }],
    ['thinking out of sight', { thinking: { type: 'adaptive', display: 'omitted' } }, { parts, droppedElsewhere: ['thinking.display'] }],
    ['an effort of tomorrow', { output_config: { effort: 'ultra' } }, { parts, refusedElsewhere: ['output_config.effort'] }],
    [
      'a task budget',
      { output_config: { task_budget: { total: 1 }, mood: 'calm' } },
      { parts, droppedElsewhere: ['output_config.task_budget', 'output_config.mood'] },
    ],
    ['a form of tomorrow', { output_config: { format: { type: 'grammar' } } }, { parts, refusedElsewhere: ['output_config.format.type'] }],
    ['a form of tomorrow by its older name', { output_format: { type: 'grammar' } }, { parts, refusedElsewhere: ['output_format.type'] }],
    [
      'a form without a schema',
      { output_config: { format: { type: 'json_schema' } } },
      { reason: 'invalid_request', field: 'output_config.format.schema' },
    ],
    ['a choice of tomorrow', { tools: [tool], tool_choice: { type: 'best' } }, { parts, refusedElsewhere: ['tool_choice.type'] }],
    [
      'a forced call beside thinking',
      { tools: [tool], tool_choice: { type: 'any' }, thinking: { type: 'enabled', budget_tokens: 1024 } },
      { reason: 'invalid_request', field: 'tool_choice' },
    ],
    [
      'a forced call beside adaptive thinking',
      { tools: [tool], tool_choice: { type: 'tool', name: 'f' }, thinking: { type: 'adaptive' } },
      { parts },
    ],
    ['an empty stop sequence', { stop_sequences: [''] }, { reason: 'invalid_request', field: 'stop_sequences.0' }],
    ['a missing message', { messages: undefined }, { reason: 'invalid_request', field: 'messages' }],
  ])('%s', (_what, fields, outcome) => {
    expect(outcomeOf({ ...minimal, ...fields })).toEqual(outcome);
  });

  it('sets the amount of thinking', () => {
    const reasoningOf = (fields: object): Reasoning | undefined => parseMessages({ ...minimal, ...fields }, {}).request.reasoning;
    const none = { effort: '', budgetTokens: undefined, disabled: false };
    expect(reasoningOf({})).toBeUndefined();
    expect(reasoningOf({ thinking: { type: 'enabled', budget_tokens: 2048 } })).toEqual({ ...none, budgetTokens: 2048 });
    expect(reasoningOf({ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } })).toEqual({ ...none, effort: 'max' });
    expect(reasoningOf({ thinking: { type: 'between_tools' } })).toEqual(none);
    expect(reasoningOf({ thinking: { type: 'disabled' } })).toEqual({ ...none, disabled: true });
    expect(reasoningOf({ output_config: { effort: 'low' } })).toEqual({ ...none, effort: 'low' });
  });

  it('may allow a thinking budget above one answer, for thinking interleaved with calls', () => {
    const body = { ...minimal, thinking: { type: 'enabled', budget_tokens: 9000 } };
    expect(outcomeOf(body)).toEqual({ reason: 'invalid_request', field: 'thinking.budget_tokens' });
    expect(outcomeOf(body, { betas: ['interleaved-thinking-2025-05-14'] })).toEqual({ parts });
  });

  it('sets the schema of the answer, under either name', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const formatOf = (fields: object): ResponseFormat | undefined => parseMessages({ ...minimal, ...fields }, {}).request.responseFormat;
    const expected = { format: { $case: 'jsonSchema', value: { name: '', description: '', schemaJson: JSON.stringify(schema) } } };
    expect(formatOf({ output_config: { format: { type: 'json_schema', schema } } })).toEqual(expected);
    expect(formatOf({ output_format: { type: 'json_schema', schema } })).toEqual(expected);
    expect(formatOf({ output_format: null })).toBeUndefined();
  });
});

describe('a tool', () => {
  const promptOf = (tools: object[], more: object = {}): Prompt => parseMessages({ ...minimal, tools, ...more }, {}).request.prompt!;
  const parts = [{ text: { text: 'hi' } }];

  it.each<[string, object, Outcome]>([
    ['of the caller’s', { ...tool, type: 'custom', strict: true, description: 'd' }, { parts }],
    ['without a type', { ...tool, type: null }, { parts }],
    [
      'with all options',
      {
        ...tool,
        defer_loading: true,
        input_examples: [{}],
        eager_input_streaming: true,
        allowed_callers: ['direct'],
        cache_control: mark,
        mood: 1,
      },
      {
        parts,
        droppedElsewhere: [
          'tools.defer_loading',
          'tools.input_examples',
          'tools.eager_input_streaming',
          'tools.allowed_callers',
          'tools.mood',
        ],
      },
    ],
    ...[
      'bash_20250124',
      'text_editor_20250728',
      'memory_20250818',
      'computer_toolset_20260801',
      'browser_toolset_20260801',
      'tool_search_tool_bm25_20251119',
      'tool_search_tool_regex_20251119',
      'hologram_2030',
    ].map((type): [string, object, Outcome] => [type, { type, name: 'x' }, { parts, refusedElsewhere: ['tools.0.type'] }]),
    ...[
      'web_search_20250305',
      'web_search_20260318',
      'web_fetch_20250910',
      'code_execution_20250522',
      'code_execution_20260521',
      'mcp_toolset',
      'advisor_20260301',
    ].map((type): [string, object, Outcome] => [type, { type, name: 'x' }, { parts, refusedElsewhere: ['tools.0.type'] }]),
    ['without a schema', { name: 'f' }, { reason: 'invalid_request', field: 'tools.0.input_schema' }],
    ['of the caller’s without a schema', { type: 'custom', name: 'f' }, { reason: 'invalid_request', field: 'tools.0.input_schema' }],
    [
      'with a schema of something else',
      { name: 'f', input_schema: { type: 'string' } },
      { reason: 'invalid_request', field: 'tools.0.input_schema.type' },
    ],
    ['without a name', { input_schema: { type: 'object' } }, { reason: 'invalid_request', field: 'tools.0.name' }],
    ['with spaces in its name', { ...tool, name: 'a b' }, { reason: 'invalid_request', field: 'tools.0.name' }],
    ['with a number for a type', { ...tool, type: 7 }, { reason: 'invalid_request', field: 'tools.0.type' }],
  ])('%s', (_what, param, outcome) => {
    expect(outcomeOf({ ...minimal, tools: [param] })).toEqual(outcome);
  });

  it('keeps its description, schema, strictness and cache mark', () => {
    expect(promptOf([{ ...tool, description: 'd', strict: true, cache_control: mark }]).tools).toEqual([
      { name: 'f', description: 'd', parametersJson: '{"type":"object","properties":{}}', strict: true, cacheTtl: '5m' },
    ]);
  });

  it('may be chosen by name, even if only the vendor knows its schema, but the tool must exist', () => {
    const choice = { tool_choice: { type: 'tool', name: 'bash' } };
    expect(outcomeOf({ ...minimal, tools: [tool, { type: 'bash_20250124', name: 'bash' }], ...choice })).toEqual({
      parts,
      refusedElsewhere: ['tools.1.type'],
    });
    expect(promptOf([tool, { type: 'bash_20250124', name: 'bash' }], choice).toolChoice).toBeUndefined();
    expect(outcomeOf({ ...minimal, tools: [tool], ...choice })).toEqual({ reason: 'invalid_request', field: 'tool_choice.name' });
  });

  it('may have one web search, whose maximum the hold covers', () => {
    const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 2 };
    for (const other of [{ ...search, name: 'other' }, { type: 'web_search_20260318' }])
      expect(outcomeOf({ ...minimal, tools: [search, tool, other] })).toEqual({ reason: 'invalid_request', field: 'tools.2.type' });
  });

  it('must have a unique name', () => {
    expect(
      outcomeOf({
        ...minimal,
        tools: [
          { ...tool, name: 'bash' },
          { type: 'bash_20250124', name: 'bash' },
        ],
      }),
    ).toEqual({ reason: 'invalid_request', field: 'tools.1.name' });
  });
});

describe('cache marks', () => {
  const texts = (count: number): object[] => Array.from({ length: count }, (_, index) => text(`t${index}`, { cache_control: mark }));

  it('are at most four, wherever they are', () => {
    expect(outcomeOf(saying(...texts(4)))).toMatchObject({ parts: expect.any(Array) });
    expect(outcomeOf(saying(...texts(5)))).toEqual({ reason: 'invalid_request', field: 'messages.0.content.4.cache_control' });
    const spread = { tools: [{ ...tool, cache_control: mark }], system: [text('s', { cache_control: mark })] };
    expect(outcomeOf({ ...saying(...texts(2)), ...spread })).toMatchObject({ parts: expect.any(Array) });
    expect(outcomeOf({ ...saying(...texts(3)), ...spread })).toEqual({
      reason: 'invalid_request',
      field: 'messages.0.content.2.cache_control',
    });
    expect(outcomeOf(saying(...texts(4), { type: 'hologram', cache_control: mark }))).toEqual({
      reason: 'invalid_request',
      field: 'messages.0.content.4.cache_control',
    });
  });

  it('include the automatic one', () => {
    expect(outcomeOf({ ...saying(...texts(3)), cache_control: mark })).toMatchObject({ parts: expect.any(Array) });
    expect(outcomeOf({ ...saying(...texts(4)), cache_control: mark })).toEqual({ reason: 'invalid_request', field: 'cache_control' });
  });

  it('of the instructions are kept at their position', () => {
    const system = [text('x-anthropic-billing-header: v'), text('a'), text('b', { cache_control: { ...mark, ttl: '1h' } })];
    expect(parseMessages({ ...minimal, system }, {}).request.prompt).toMatchObject({ system: ['a', 'b'], systemCacheTtls: { 1: '1h' } });
  });
});

describe('the bound of the input', () => {
  const boundOf = (body: object): number => parseMessages(body, {}).inputTokensMax;

  it('covers content without a common form by its bytes', () => {
    const base = boundOf(minimal);
    expect(base).toBe(64 + 2);
    expect(boundOf({ ...minimal, future_field: 'x'.repeat(1000) })).toBe(base + 1002);
    expect(boundOf(saying(text('hi', { citations: ['x'.repeat(1000)] })))).toBe(base + 1004);
    expect(boundOf(saying(text('hi'), { type: 'hologram' }))).toBe(base + '{"type":"hologram"}'.length);
    expect(boundOf({ ...minimal, system: [text(`x-anthropic-billing-header: ${'x'.repeat(972)}`)] })).toBeGreaterThanOrEqual(base + 1000);
    expect(boundOf({ ...minimal, tools: [{ type: 'bash_20250124', name: 'bash' }] })).toBe(
      base + 2048 + '{"type":"bash_20250124","name":"bash"}'.length,
    );
    expect(boundOf({ ...minimal, tools: [{ ...tool, input_examples: ['x'.repeat(1000)] }] }) - boundOf({ ...minimal, tools: [tool] })).toBe(
      1004,
    );
    expect(boundOf({ ...minimal, output_config: { format: { type: 'json_schema', schema: {} } } })).toBe(
      base + '{"type":"json_schema","schema":{}}'.length,
    );
    expect(boundOf(saying(text('hi'), document({ type: 'text', media_type: 'text/plain', data: 'words' }, { title: 'T' })))).toBe(
      base + 5 + 1,
    );
  });

  it('does not include images and documents, which are counted separately', () => {
    expect(boundOf(saying(text('hi'), image({ ...png, data: 'x'.repeat(5000) }), document({ ...pdf, data: 'x'.repeat(5000) })))).toBe(66);
  });
});
