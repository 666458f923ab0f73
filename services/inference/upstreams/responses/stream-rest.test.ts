import { describe, expect, it } from '@jest/globals';
import type { Event } from '#proto/inference/v1/inference.js';
import { ResponsesDecoder } from './stream.js';

function decode(...payloads: object[]): { events: Event[]; end: unknown } {
  const decoder = new ResponsesDecoder({
    target: { upstreamId: 'u', upstreamModel: 'm' },
    requestId: '',
    droppedFields: [],
    isNative: true,
    toCallerName: String,
    newId: (prefix) => `${prefix}_made`,
  });
  const events = payloads.flatMap((payload) => decoder.push(JSON.stringify(payload)));
  const { extraJson } = decoder.outcome!;
  return { events, end: extraJson === undefined ? undefined : JSON.parse(extraJson) };
}

/** Returns each event as its kind and its rest. */
const rests = (events: readonly Event[]): unknown[] =>
  events.map(({ event, extraJson }) => [event!.$case, extraJson === undefined ? undefined : JSON.parse(extraJson)]);

const head = { id: 'resp_1', object: 'response', created_at: 1, model: 'm-1', error: null, tools: [], temperature: 1, store: false };
const created = {
  type: 'response.created',
  response: { ...head, status: 'in_progress', output: [], news: { of: 'tomorrow' }, billing: { payer: 'x' } },
};
const completed = { type: 'response.completed', response: { ...head, status: 'completed', output: [], news: { of: 'tomorrow' } } };
const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
const part = { type: 'output_text', text: '', annotations: [] };
const at = { item_id: 'msg_1', output_index: 0, content_index: 0, sequence_number: 4 };
const annotation = {
  type: 'response.output_text.annotation.added',
  ...at,
  annotation_index: 0,
  annotation: { type: 'url_citation', url: 'https://a.test' },
};
const endPart = { type: 'output_text', text: 'Hi', annotations: [annotation.annotation], logprobs: [] };

describe('the rest of a responses answer', () => {
  it('has the ids of items, what surrounds texts, and what only callers of the format can read', () => {
    const { events, end } = decode(
      created,
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.content_part.added', ...at, part },
      { type: 'response.output_text.delta', ...at, delta: 'H', logprobs: [] },
      { type: 'response.output_text.delta', ...at, delta: 'i', logprobs: [{ token: 'Hi' }], obfuscation: 'xyz' },
      annotation,
      { type: 'response.output_text.done', ...at, text: 'Hi' },
      { type: 'response.content_part.done', ...at, part: endPart },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...item, status: 'completed', phase: 'final_answer', content: [endPart] },
      },
      completed,
    );
    expect(rests(events)).toEqual([
      ['started', { news: { of: 'tomorrow' } }],
      ['blockStart', { item: { id: 'msg_1' }, part: { annotations: [] } }],
      // The gateway writes an empty list by itself.
      ['blockDelta', undefined],
      ['blockDelta', { logprobs: [{ token: 'Hi' }] }],
      ['blockDelta', undefined],
      ['blockStop', { item: { id: 'msg_1', phase: 'final_answer' }, part: { annotations: [annotation.annotation], logprobs: [] } }],
    ]);
    expect(events[4]!.event).toMatchObject({ value: { delta: { $case: 'foreignJson', value: JSON.stringify(annotation) } } });
    expect(end).toBeUndefined();
  });

  it('says which part of its reasoning a text belongs to, and has the encrypted content', () => {
    const thought = { id: 'rs_1', type: 'reasoning', summary: [] };
    const place = { item_id: 'rs_1', output_index: 0 };
    const { events } = decode(
      created,
      { type: 'response.output_item.added', output_index: 0, item: thought },
      { type: 'response.reasoning_summary_text.delta', ...place, summary_index: 0, delta: 'A' },
      { type: 'response.reasoning_summary_text.delta', ...place, summary_index: 1, delta: 'B' },
      { type: 'response.reasoning_text.delta', ...place, content_index: 0, delta: 'C' },
      { type: 'response.output_item.done', output_index: 0, item: { ...thought, encrypted_content: 'gAA=' } },
      completed,
    );
    expect(rests(events).slice(1)).toEqual([
      ['blockStart', { item: { id: 'rs_1' } }],
      ['blockDelta', undefined],
      ['blockDelta', { is_separator: true }],
      ['blockDelta', { summary_index: 1 }],
      ['blockDelta', { is_separator: true }],
      ['blockDelta', { content_index: 0 }],
      ['blockDelta', undefined],
      ['blockStop', { item: { id: 'rs_1', encrypted_content: 'gAA=' } }],
    ]);
  });

  it('has items without a common form whole, with their events', () => {
    const search = { id: 'ws_1', type: 'web_search_call', status: 'in_progress' };
    const searching = { type: 'response.web_search_call.searching', output_index: 0, item_id: 'ws_1' };
    const { events } = decode(
      created,
      { type: 'response.output_item.added', output_index: 0, item: search },
      searching,
      { type: 'response.output_item.done', output_index: 0, item: { ...search, status: 'completed', action: { query: 'q' } } },
      completed,
    );
    expect(events.slice(1).map(({ event }) => event)).toMatchObject([
      { $case: 'blockStart', value: { block: { $case: 'foreign', value: { json: JSON.stringify(search) } } } },
      { $case: 'blockDelta', value: { delta: { $case: 'foreignJson', value: JSON.stringify(searching) } } },
      { $case: 'blockStop' },
    ]);
    expect(JSON.parse(events[3]!.extraJson!)).toEqual({ item: { ...search, status: 'completed', action: { query: 'q' } } });
  });

  it('keeps what a call has alongside its meaning, and gives an item without an id its own', () => {
    const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '', namespace: 'n' };
    const { events } = decode(
      created,
      { type: 'response.output_item.added', output_index: 0, item: call },
      { type: 'response.output_item.done', output_index: 0, item: { ...call, arguments: '{}' } },
      completed,
    );
    expect(rests(events).slice(1)).toEqual([
      ['blockStart', { item: { id: 'fc_made', namespace: 'n' } }],
      ['blockDelta', undefined],
      ['blockStop', { item: { namespace: 'n' } }],
    ]);
  });

  it('has an empty part of a message, whether it is streamed or not', () => {
    const whole = { ...item, status: 'completed', content: [{ ...part }] };
    const streamed = decode(
      created,
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.output_item.done', output_index: 0, item: whole },
      completed,
    );
    const sentWhole = decode({ ...head, status: 'completed', output: [whole] });
    for (const { events } of [streamed, sentWhole])
      expect(events.map(({ event }) => event!.$case)).toEqual(['started', 'blockStart', 'blockStop']);
  });

  it('passes on other events of the format, but nothing about the connection or the account', () => {
    const news = { type: 'response.news.published', news: 1, cost: 7 };
    const { events } = decode(created, { type: 'keepalive' }, { type: 'codex.rate_limits', primary: 1 }, news, completed);
    expect(events.map(({ event }) => event)).toMatchObject([
      { $case: 'started' },
      { $case: 'foreign', value: { json: '{"type":"response.news.published","news":1}', isEnd: false } },
    ]);
  });

  it('has what came only with the end: new fields, other usage, and a reason without a common form', () => {
    const usage = {
      input_tokens: 1,
      output_tokens: 1,
      total_tokens: 2,
      cost: 5,
      tool_tokens: 3,
      input_tokens_details: { cached_tokens: 0, audio_tokens: 4 },
    };
    const end = {
      ...completed.response,
      status: 'incomplete',
      usage,
      service_tier: 'default',
      incomplete_details: { reason: 'steered', by: 'user' },
    };
    const begun = { type: 'response.output_item.added', output_index: 0, item };
    expect(decode(created, begun, { type: 'response.incomplete', response: end }).end).toEqual({
      response: { service_tier: 'default' },
      usage: { tool_tokens: 3, input_tokens_details: { audio_tokens: 4 } },
      incomplete_details: { reason: 'steered', by: 'user' },
    });
  });
});
