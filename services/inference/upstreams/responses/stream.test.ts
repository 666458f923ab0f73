import { describe, expect, it } from '@jest/globals';
import { raisedBy } from '#kit/testing/waiting.js';
import { StopReason } from '#proto/inference/v1/inference.js';
import { signatureOfItem } from '#rules/wire/reasoning-seals.js';
import { decoded, eventsOf } from '../../testing/fixtures.js';
import { ResponsesDecoder } from './stream.js';

const target = { upstreamId: 'u', upstreamModel: 'm' };

type Payload = Readonly<Record<string, unknown>> | string;

function decode(payloads: readonly Payload[]) {
  let made = 0;
  const decoder = new ResponsesDecoder({
    target,
    requestId: '',
    droppedFields: ['seed'],
    isNative: false,
    toCallerName: (name) => name.replace('short', 'long'),
    newId: (prefix) => `${prefix}_made${(made += 1)}`,
  });
  return decoded(decoder, payloads);
}

const usage = { input_tokens: 9, output_tokens: 4 };
const response = (status: string, more: object = {}): Payload => ({
  id: 'resp_1',
  object: 'response',
  model: 'm-1',
  status,
  output: [],
  ...more,
});
const created = { type: 'response.created', response: response('in_progress') };
const completed = (more: object = {}): Payload => ({ type: 'response.completed', response: response('completed', { usage, ...more }) });
const added = (output_index: number, item: object): Payload => ({ type: 'response.output_item.added', output_index, item });
const done = (output_index: number, item: object): Payload => ({ type: 'response.output_item.done', output_index, item });
const message = (id: string, ...content: object[]) => ({ id, type: 'message', role: 'assistant', content });
const said = (text: string) => ({ type: 'output_text', text, annotations: [] });
const delta = (type: string, output_index: number, text: string, more: object = {}): Payload => ({
  type: `response.${type}.delta`,
  output_index,
  delta: text,
  ...more,
});
const text = [
  added(0, message('msg_1')),
  { type: 'response.content_part.added', output_index: 0, content_index: 0, item_id: 'msg_1', part: said('') },
  delta('output_text', 0, 'Hel', { item_id: 'msg_1', content_index: 0 }),
  delta('output_text', 0, 'lo', { item_id: 'msg_1', content_index: 0 }),
  { type: 'response.output_text.done', output_index: 0, content_index: 0, item_id: 'msg_1', text: 'Hello' },
  { type: 'response.content_part.done', output_index: 0, content_index: 0, item_id: 'msg_1', part: said('Hello') },
  done(0, message('msg_1', said('Hello'))),
];
const call = (id: string, name: string, args: string) => ({
  id: `fc_${id}`,
  type: 'function_call',
  call_id: id,
  name,
  arguments: args,
});
const words = (...payloads: Payload[]): string[] => decode(payloads).words;
const hello = ['started', '0:text', 'Hello', '0.'];
const failureOf = (...payloads: Payload[]) => raisedBy(() => decode(payloads));

describe('a responses stream', () => {
  it('begins with its first item, so that a response that only failed can be tried elsewhere', () => {
    const { events } = decode([created, ...text, completed()]);
    expect(events[0]?.event).toEqual({
      $case: 'started',
      value: { target, upstreamRequestId: 'resp_1', upstreamReportedModel: 'm-1', droppedFields: ['seed'] },
    });
    const decoder = new ResponsesDecoder({
      target,
      requestId: 'req_9',
      droppedFields: [],
      isNative: true,
      toCallerName: String,
      newId: String,
    });
    expect(decoder.push(JSON.stringify(created))).toEqual([]);
    expect(decoder.push(JSON.stringify(text[0]))[0]?.event).toMatchObject({ value: { upstreamRequestId: 'req_9' } });
  });

  it('carries text, with keepalives and events of the future in between', () => {
    const strange = [{ type: 'keepalive' }, { type: 'response.news', news: 1 }, { type: 'response.output_text.sparkle', output_index: 0 }];
    expect(words(created, ...strange, ...text.slice(0, 3), ...strange, ...text.slice(3), ...strange, completed())).toEqual(hello);
  });

  it('writes only the missing end of a text whose many pieces it has written', () => {
    const pieces = ['a', 'b', 'c', 'd', 'e'].map((each) => delta('output_text', 0, each));
    const { events } = decode([created, added(0, message('msg_1')), ...pieces, done(0, message('msg_1', said('abcdef'))), completed()]);
    const written = events.flatMap(({ event }) => (event?.$case === 'blockDelta' ? [event.value.delta?.value] : []));
    expect(written).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('carries each part of a message, and a refusal, as a block of its own', () => {
    const parts = [
      added(0, message('msg_1')),
      delta('output_text', 0, 'One', { content_index: 0 }),
      delta('output_text', 0, 'Two', { content_index: 1 }),
      delta('refusal', 0, 'No', { content_index: 2 }),
      done(0, message('msg_1', said('One'), said('Two'), { type: 'refusal', refusal: 'No.' })),
    ];
    const { words: found, decoder } = decode([created, ...parts, completed()]);
    expect(found).toEqual(['started', '0:text', 'One', '0.', '1:text', 'Two', '1.', '2:refusal', 'No.', '2.']);
    expect(decoder.outcome?.stopReason).toBe(StopReason.STOP_REASON_REFUSAL);
  });

  it('carries reasoning summaries with the encrypted content under the id of its item', () => {
    const item = { id: 'rs_1', type: 'reasoning', summary: [] };
    const whole = {
      ...item,
      summary: [
        { type: 'summary_text', text: 'A' },
        { type: 'summary_text', text: 'BC' },
      ],
      encrypted_content: 'gAA=',
    };
    const signature = `signature=${signatureOfItem({ id: 'rs_1', encryptedContent: 'gAA=' })}`;
    const deltas = [
      added(0, item),
      { type: 'response.reasoning_summary_part.added', output_index: 0, summary_index: 0, part: { type: 'summary_text', text: '' } },
      delta('reasoning_summary_text', 0, 'A', { summary_index: 0 }),
      delta('reasoning_summary_text', 0, 'B', { summary_index: 1 }),
      { type: 'response.reasoning_summary_text.done', output_index: 0, summary_index: 1, text: 'BC' },
    ];
    expect(words(created, ...deltas, done(0, whole), completed())).toEqual(['started', '0:reasoning', 'A\n\nBC', signature, '0.']);
    // Without a summary only the encrypted content is left; without that, nothing.
    expect(words(created, added(0, item), done(0, { ...whole, summary: [] }), completed())).toEqual([
      'started',
      '0:reasoning',
      signature,
      '0.',
    ]);
    expect(words(created, added(0, item), done(0, item), completed())).toEqual(['started']);
  });

  it('carries the thoughts themselves where a server shows them, and not their summary again', () => {
    const item = { id: 'rs_1', type: 'reasoning', summary: [] };
    const thoughts = [
      added(0, item),
      delta('reasoning_text', 0, 'Thou', { content_index: 0 }),
      delta('reasoning_text', 0, 'ght', { content_index: 0 }),
      delta('reasoning_summary_text', 0, 'In short', { summary_index: 0 }),
      done(0, { ...item, content: [{ type: 'reasoning_text', text: 'Thought' }], summary: [{ type: 'summary_text', text: 'In short' }] }),
    ];
    expect(words(created, ...thoughts, completed())).toEqual(['started', '0:reasoning', 'Thought', '0.']);
  });

  it('carries calls of functions and of custom tools, with the names and ids that the caller knows', () => {
    const items = [
      added(0, call('a', 'short', '')),
      delta('function_call_arguments', 0, '{"x":'),
      delta('function_call_arguments', 0, '1}'),
      { type: 'response.function_call_arguments.done', output_index: 0, arguments: '{"x":1}' },
      done(0, call('a', 'short', '{"x":1}')),
      added(1, { id: 'ctc_1', type: 'custom_tool_call', call_id: 'b', name: 'patch', input: '' }),
      delta('custom_tool_call_input', 1, '*** Begin'),
      done(1, { id: 'ctc_1', type: 'custom_tool_call', call_id: 'b', name: 'patch', input: '*** Begin' }),
      added(2, call('c', 'now', '')),
      done(2, call('c', 'now', '')),
    ];
    const { words: found, events, decoder } = decode([created, ...items, completed()]);
    const calls = ['0:toolCall(a,long)', '{"x":1}', '0.', '1:toolCall(b,patch)', '*** Begin', '1.', '2:toolCall(c,now)', '{}', '2.'];
    expect(found).toEqual(['started', ...calls]);
    const kinds = eventsOf([{ events, usageSoFar: undefined }]).flatMap((event) =>
      event.$case === 'blockStart' && event.value.block?.$case === 'toolCall' ? [event.value.block.value.isCustom] : [],
    );
    expect(kinds).toEqual([undefined, true, undefined]);
    expect(decoder.outcome?.stopReason).toBe(StopReason.STOP_REASON_TOOL_CALLS);
  });

  it('gives a call without an id, or with that of another call, its own', () => {
    const twice = [
      done(0, call('a', 'f', '{}')),
      done(1, call('a', 'g', '{}')),
      done(2, { type: 'function_call', name: 'h', arguments: '{}' }),
    ];
    const items = twice.flatMap((each, index) => [added(index, (each as { item: object }).item), each]);
    expect(words(created, ...items, completed()).filter((word) => word.includes('toolCall'))).toEqual([
      '0:toolCall(a,f)',
      '1:toolCall(call_made1,g)',
      '2:toolCall(call_made2,h)',
    ]);
  });

  it('leaves out items that the caller cannot read, such as those of tools that the vendor runs', () => {
    const search = { id: 'ws_1', type: 'web_search_call', status: 'completed' };
    const searching = { type: 'response.web_search_call.searching', output_index: 0, item_id: 'ws_1' };
    const later = text.map((event) => (typeof event === 'string' ? event : { ...event, output_index: 1 }));
    expect(words(created, added(0, search), searching, done(0, search), ...later, completed())).toEqual(hello);
  });
});

describe('a responses stream of another server', () => {
  it.each<[string, readonly Payload[]]>([
    ['does not announce its items', text.slice(2)],
    ['sends no deltas', text.slice(-1).flatMap((end) => [text[0]!, end])],
    ['loses a delta', text.filter((_, index) => index !== 3)],
    ['does not end its items', text.slice(0, 4)],
    ['sends neither items nor parts', text.slice(2, 4)],
    ['has no indexes', text.map((event) => without(event, 'output_index', 'content_index'))],
    ['has no ids', text.map((event) => without(event, 'item_id'))],
    ['sends another id in every event', text.map((event, index) => ({ ...(event as object), item_id: `msg_${index}` }))],
    ['announces an item twice', [text[0]!, ...text]],
    ['repeats the marker of another format', [...text, '']],
  ])('is read when it %s', (_name, events) => {
    const { words: found, decoder } = decode([created, ...events, completed({ output: [message('msg_1', said('Hello'))] })]);
    expect(found).toEqual(hello);
    expect(decoder.report).toMatchObject({ input: { inputTokens: 9 }, output: { outputTokens: 4 } });
  });

  it('is written one item after another when its items are interleaved', () => {
    const [a, b] = [call('a', 'f', ''), call('b', 'g', '')];
    const mixed = [
      added(0, a),
      added(1, b),
      delta('function_call_arguments', 1, '{"b"', { item_id: 'fc_b' }),
      delta('function_call_arguments', 0, '{"a"', { item_id: 'fc_a' }),
      delta('function_call_arguments', 1, ':2}', { item_id: 'fc_b' }),
      done(1, { ...b, arguments: '{"b":2}' }),
      delta('function_call_arguments', 0, ':1}', { item_id: 'fc_a' }),
      done(0, { ...a, arguments: '{"a":1}' }),
    ];
    const wanted = ['started', '0:toolCall(a,f)', '{"a":1}', '0.', '1:toolCall(b,g)', '{"b":2}', '1.'];
    expect(words(created, ...mixed, completed())).toEqual(wanted);
    // The same from a server that numbers all items 0.
    expect(words(created, ...mixed.map((event) => ({ ...(event as object), output_index: 0 })), completed())).toEqual(wanted);
  });

  it('is read when it names a call only at its end, or sends its arguments as an object', () => {
    const whole = call('a', 'f', '{"x":1}');
    expect(
      words(created, added(0, { ...whole, name: '' }), delta('function_call_arguments', 0, '{"x":1}'), done(0, whole), completed()),
    ).toEqual(['started', '0:toolCall(a,f)', '{"x":1}', '0.']);
    expect(words(created, added(0, whole), done(0, { ...whole, arguments: { x: 1 } }), completed())).toContain('{"x":1}');
  });

  it('is read when it sends its items only whole, without announcing them', () => {
    const items = [message('msg_1', said('Hello')), call('a', 'f', '{"x":1}')];
    const wanted = [...hello, '1:toolCall(a,f)', '{"x":1}', '1.'];
    for (const output of [[], items])
      expect(words(created, ...items.map((item, index) => done(index, item)), completed({ output }))).toEqual(wanted);
  });

  it('is read when it sends its calls only with the finished response', () => {
    const output = [message('msg_1', said('Hello')), call('a', 'f', '{}')];
    expect(words(created, ...text, completed({ output }))).toEqual([...hello, '1:toolCall(a,f)', '{}', '1.']);
    expect(words(completed({ output }))).toEqual([...hello, '1:toolCall(a,f)', '{}', '1.']);
  });

  it('is read from the one body of a server that does not stream', () => {
    const body = response('completed', { output: [message('msg_1', said('Hello'))], usage });
    const { words: found, events, decoder } = decode([body]);
    expect(found).toEqual(hello);
    expect(events[0]?.event).toMatchObject({ value: { upstreamRequestId: 'resp_1', upstreamReportedModel: 'm-1' } });
    expect(decoder.outcome?.stopReason).toBe(StopReason.STOP_REASON_END);
  });
});

function without(event: Payload, ...names: string[]): Payload {
  return Object.fromEntries(Object.entries(event).filter(([name]) => !names.includes(name)));
}

describe('the end of a responses answer', () => {
  const incomplete = (reason: string): Payload => ({
    type: 'response.incomplete',
    response: response('incomplete', { usage, incomplete_details: { reason } }),
  });

  it.each([
    ['max_output_tokens', StopReason.STOP_REASON_MAX_TOKENS],
    ['content_filter', StopReason.STOP_REASON_REFUSAL],
    ['steered', StopReason.STOP_REASON_END],
  ])('is read from the reason why it is incomplete: %s', (reason, wanted) => {
    expect(decode([created, ...text.slice(0, 4), incomplete(reason)]).decoder.outcome?.stopReason).toBe(wanted);
  });

  it.each<[string, readonly Payload[]]>([
    ['before anything', []],
    ['after its head', [created]],
    ['in the middle of a text', [created, ...text.slice(0, 4)]],
    ['after its last item', [created, ...text]],
    ['with the marker of another format', [created, ...text, '[DONE]']],
  ])('is missing if the stream breaks off %s', (_name, payloads) => {
    expect(failureOf(...payloads)).toMatchObject({ reason: 'upstream_failed', message: 'The upstream ended its answer early.' });
  });

  it.each<[string, Payload, string]>([
    [
      'a failed response',
      { type: 'response.failed', response: response('failed', { error: { code: 'server_error', message: 'x' } }) },
      'upstream_failed',
    ],
    [
      'a rate limit',
      { type: 'response.failed', response: response('failed', { error: { code: 'rate_limit_exceeded', message: 'x' } }) },
      'upstream_rate_limited',
    ],
    [
      'a prompt that breaks a policy',
      { type: 'response.failed', response: response('failed', { error: { code: 'invalid_prompt', message: 'x' } }) },
      'upstream_rejected',
    ],
    [
      'an image that cannot be read',
      { type: 'response.failed', response: response('failed', { error: { code: 'image_parse_error', message: 'x' } }) },
      'upstream_rejected',
    ],
    ['a cancelled response', { type: 'response.cancelled', response: response('cancelled') }, 'upstream_failed'],
    ['an error event', { type: 'error', code: 'server_error', message: 'x', param: null }, 'upstream_failed'],
    [
      'an error event with its fields inside',
      { type: 'error', error: { type: 'too_many_requests', code: 'rate_limit_exceeded', message: 'x' } },
      'upstream_rate_limited',
    ],
    ['an error without a type', { error: { type: 'overloaded', message: 'x' } }, 'upstream_overloaded'],
    [
      'a prompt that is too long',
      { type: 'error', code: 'context_length_exceeded', message: 'x', param: 'input' },
      'context_length_exceeded',
    ],
  ])('is an error for %s', (_name, payload, reason) => {
    expect(failureOf(created, payload).reason).toBe(reason);
  });

  it('keeps the usage that a failed response reports, because the vendor charges for it', () => {
    const decoder = new ResponsesDecoder({
      target,
      requestId: '',
      droppedFields: [],
      isNative: false,
      toCallerName: String,
      newId: String,
    });
    for (const event of [created, ...text]) decoder.push(JSON.stringify(event));
    const failed = { type: 'response.failed', response: response('failed', { error: { code: 'server_error', message: 'x' }, usage }) };
    expect(() => decoder.push(JSON.stringify(failed))).toThrow();
    expect(decoder.report).toMatchObject({ output: { outputTokens: 4 } });
  });

  it.each<[string, readonly Payload[]]>([
    ['a payload that is not JSON', ['{"type":']],
    ['a payload without a type', [{ hello: 1 }]],
    ['an item that is no object', [{ type: 'response.output_item.added', output_index: 0, item: 'text' }]],
    ['a text of another type', [...text.slice(0, 2), { type: 'response.output_text.delta', output_index: 0, delta: 7 }]],
    ['the text of a call', [added(0, call('a', 'f', '')), delta('output_text', 0, 'Hi')]],
    ['arguments of a text', [...text.slice(0, 2), delta('function_call_arguments', 0, '{}')]],
    ['more of a complete item', [...text, delta('output_text', 0, 'more')]],
    ['a call without a name', [added(0, { type: 'function_call', call_id: 'a' }), done(0, { type: 'function_call', call_id: 'a' })]],
    ['an end without a response', [...text, { type: 'response.completed' }]],
    ['a response that is still being made', [response('queued')]],
  ])('is an error for %s', (_name, payloads) => {
    expect(failureOf(created, ...payloads, completed())).toMatchObject({ reason: 'upstream_failed' });
  });

  it('reports usage in classes that do not overlap, and figures that cannot be right as such', () => {
    const figures = {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 8 },
      total_tokens: 120,
    };
    expect(decode([created, ...text, completed({ usage: figures })]).decoder.report).toEqual({
      input: { inputTokens: 30, cacheReadTokens: 60, cacheWrite5mTokens: 10, cacheWrite1hTokens: 0 },
      output: { outputTokens: 20, reasoningTokens: 8 },
    });
    const beyond = { input_tokens: 100, output_tokens: 20, total_tokens: 150 };
    expect(decode([created, ...text, completed({ usage: beyond })]).decoder.report).toMatchObject({
      output: { outputTokens: 50, reasoningTokens: 30 },
    });
    expect(
      decode([created, ...text, completed({ usage: { input_tokens: 5, input_tokens_details: { cached_tokens: 9 } } })]).decoder.report,
    ).toEqual({
      input: 'cached_above_input',
      output: undefined,
    });
    expect(decode([created, ...text, completed({ usage: 'much' })]).decoder.report).toEqual({
      input: 'not_a_count',
      output: 'not_a_count',
    });
    expect(decode([created, ...text, completed({ usage: null })]).decoder.report).toEqual({ input: undefined, output: undefined });
  });
});

describe('searches of the vendor', () => {
  it('are counted once each, streamed and whole, without opened pages and failures', () => {
    const search = (id: string, more: object = {}) => ({ id, type: 'web_search_call', status: 'completed', ...more });
    const items = [
      search('ws_1', { action: { type: 'search', query: 'a' } }),
      search('ws_2', { action: { type: 'open_page', url: 'https://a.example' } }),
      search('ws_3', { status: 'failed' }),
      search('ws_4'),
    ];
    const streamed = items.flatMap((item, index) => [added(index, { ...item, status: 'in_progress' }), done(index, item)]);
    expect(decode([created, ...streamed, completed({ output: items })]).decoder.report).toMatchObject({ searches: 2 });
    expect(decode([response('completed', { usage, output: items })]).decoder.report).toMatchObject({ searches: 2 });
    expect(decode([created, ...text, completed()]).decoder.report.searches).toBeUndefined();
  });
});
