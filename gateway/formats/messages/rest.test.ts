import { describe, expect, it } from '@jest/globals';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import {
  answerContext,
  blockStart,
  blockStop,
  counts,
  delta,
  finished,
  foreign,
  foreignBlock,
  foreignDelta,
  reasoningBlock,
  started,
  textBlock,
  toolBlock,
  toolStart,
  withBeside,
  withRest,
} from '../testing/events.js';
import { framesOf, streamed, whole } from '../testing/frames.js';
import { messages } from './index.js';
import { messagesToolId } from '#rules/wire/tool-ids.js';

type Data = { type: string; index?: number; [field: string]: unknown };

const dataOf = (...events: Event[]): Data[] => framesOf(streamed(messages, answerContext, events)).map(({ data }) => data as Data);
const blocksOf = (...events: Event[]): Data[] => dataOf(started, ...events, finished()).slice(1, -2);

function wholeOf(...events: Event[]): { content: object[]; [field: string]: unknown } {
  return whole(messages, answerContext, events) as ReturnType<typeof wholeOf>;
}

const text = blockStart(0, { $case: 'text', value: {} });
const thinking = blockStart(0, { $case: 'reasoning', value: { redactedData: '' } });

describe('additional fields of an upstream’s message', () => {
  it('are in message_start and in the whole answer, except for fields that are ours', () => {
    const rest = {
      id: 'theirs',
      model: 'theirs',
      content: ['theirs'],
      container: { id: 'c' },
      vendor: 1,
      usage: {
        input_tokens: 9999,
        cache_creation: { ephemeral_1d_input_tokens: 3, ephemeral_5m_input_tokens: 9 },
        service_tier: 'priority',
        inference_geo: 'eu',
        server_tool_use: { web_search_requests: 2 },
      },
    };
    const events = [withRest(started, rest), ...textBlock(0, 'Hi'), finished()];
    const shown = { id: 'msg_0199aaaabbbbccccddddeeeeffff0000', model: 'sandbox/echo', container: { id: 'c' }, vendor: 1 };
    const usage = {
      cache_creation: { ephemeral_1d_input_tokens: 3 },
      service_tier: 'priority',
      inference_geo: 'eu',
      speed: 'standard',
      server_tool_use: { web_search_requests: 2 },
    };
    expect(dataOf(...events)[0]).toMatchObject({ message: { ...shown, content: [], usage: { ...usage, input_tokens: 17 } } });
    expect(wholeOf(...events)).toMatchObject({
      ...shown,
      content: [{ type: 'text' }],
      usage: { ...usage, input_tokens: 100, cache_creation: { ephemeral_5m_input_tokens: 3 } },
    });
  });

  it('are in message_delta and in the whole answer, where the recorded counts take precedence', () => {
    const rest = {
      delta: { stop_reason: 'pause_turn', container: { id: 'c' } },
      usage: {
        input_tokens: 1,
        output_tokens: 1,
        output_tokens_details: { thinking_tokens: 1, other: 2 },
        server_tool_use: { web_search_requests: 1 },
        iterations: [],
      },
      context_management: { applied_edits: [] },
    };
    const events = [started, ...textBlock(0, 'Hi'), withRest(finished(), rest)];
    const usage = {
      input_tokens: 100,
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 12, other: 2 },
      server_tool_use: { web_search_requests: 1 },
      iterations: [],
    };
    expect(dataOf(...events).at(-2)).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'pause_turn', stop_sequence: null, stop_details: null, container: { id: 'c' } },
      usage: { ...usage, cache_creation_input_tokens: 7, cache_read_input_tokens: 20 },
      context_management: { applied_edits: [] },
    });
    expect(wholeOf(...events)).toMatchObject({
      stop_reason: 'pause_turn',
      container: { id: 'c' },
      usage,
      context_management: { applied_edits: [] },
    });
  });

  it('include the reason why the vendor stopped an answer', () => {
    const stopDetails = { type: 'refusal', category: 'cyber', explanation: 'No.' };
    const events = [started, withRest(finished(StopReason.STOP_REASON_REFUSAL), { delta: { stop_details: stopDetails } })];
    expect(dataOf(...events).at(-2)).toMatchObject({ delta: { stop_reason: 'refusal', stop_details: stopDetails } });
    expect(wholeOf(...events)).toMatchObject({ stop_reason: 'refusal', stop_details: stopDetails });
  });

  it('do not hide a tool call by a stop reason that says the model had finished', () => {
    const events = [started, ...toolBlock(0, 'a', 'f'), withRest(finished(), { delta: { stop_reason: 'end_turn' } })];
    expect(dataOf(...events).at(-2)).toMatchObject({ delta: { stop_reason: 'tool_use' } });
    expect(wholeOf(...events)).toMatchObject({ stop_reason: 'tool_use' });
  });
});

describe('additional fields of a block', () => {
  it('are in its start, and open no empty block', () => {
    const call = withRest(toolStart(1, 'a', 'f'), {
      id: 'theirs',
      input: { theirs: 1 },
      caller: { type: 'code_execution_20260120', tool_id: 's' },
      toolset_name: 'set',
    });
    const events = [
      withRest(text, { citations: [] }),
      blockStop(0),
      call,
      delta(1, 'argumentsJson', '{"x":1}'),
      withRest(blockStop(1), { vendor: 1 }),
    ];
    const block = { type: 'tool_use', id: 'a', name: 'f', caller: { type: 'code_execution_20260120', tool_id: 's' }, toolset_name: 'set' };
    expect(blocksOf(...events)).toEqual([
      { type: 'content_block_start', index: 0, content_block: { ...block, input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"x":1}' } },
      { type: 'content_block_stop', index: 0, vendor: 1 },
    ]);
    expect(wholeOf(started, ...events, finished()).content).toEqual([{ ...block, input: { x: 1 } }]);
  });

  it('are in the same place of its events, and replace nothing there', () => {
    const theirs = { around: 1, type: 'theirs', index: 9, delta: {}, content_block: {}, message: {} };
    const events = [
      withBeside(started, theirs),
      withBeside(thinking, theirs),
      withBeside(withRest(delta(0, 'text', 'hm'), {}), theirs),
      delta(0, 'text', '!'),
      withBeside(foreignDelta(0, { type: 'novel_delta' }), theirs),
      withBeside(withRest(delta(0, 'signature', 'sig'), {}), theirs),
      blockStop(0),
    ];
    const frames = dataOf(...events, finished());
    expect(frames[0]).toMatchObject({ type: 'message_start', message: { role: 'assistant' }, around: 1 });
    expect(frames.slice(1, 7)).toEqual([
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' }, around: 1 },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' }, around: 1 },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: '!' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'novel_delta' }, around: 1 },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' }, around: 1 },
      { type: 'content_block_stop', index: 0 },
    ]);
    expect(wholeOf(...events, finished()).content).toEqual([{ type: 'thinking', thinking: 'hm!', signature: 'sig' }]);
  });

  it('are in its deltas, even empty ones, but not in the block, which the vendor would reject when it is sent back', () => {
    const events = [
      thinking,
      withRest(delta(0, 'text', ''), { estimated_tokens: 50 }),
      withRest(delta(0, 'signature', 'sig'), { vendor: 1 }),
      blockStop(0),
    ];
    expect(blocksOf(...events).slice(1, 3)).toEqual([
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: '', estimated_tokens: 50 } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig', vendor: 1 } },
    ]);
    expect(wholeOf(started, ...events, finished()).content).toEqual([{ type: 'thinking', thinking: '', signature: 'sig' }]);
  });

  it('include citations, which stay with their text', () => {
    const [one, two] = [
      { type: 'char_location', cited_text: 'a' },
      { type: 'char_location', cited_text: 'b' },
    ];
    const cite = (citation: object): Event => foreignDelta(0, { type: 'citations_delta', citation });
    const events = [withRest(text, { citations: [] }), cite(one), delta(0, 'text', 'Hi'), cite(two), blockStop(0)];
    expect(blocksOf(...events)).toEqual([
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: [] } },
      { type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation: one } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation: two } },
      { type: 'content_block_stop', index: 0 },
    ]);
    expect(wholeOf(started, ...events, finished()).content).toEqual([{ type: 'text', text: 'Hi', citations: [one, two] }]);
  });
});

describe('a foreign block', () => {
  const server = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'tool_search', input: {}, caller: { type: 'direct' } };
  const result = { type: 'tool_search_tool_result', tool_use_id: 'srvtoolu_1', content: { type: 'x', tool_references: [] } };

  it('is passed on whole, in its place, with our own index', () => {
    const pieces = [
      { type: 'input_json_delta', partial_json: '{"q"' },
      { type: 'input_json_delta', partial_json: ':1}' },
    ];
    const events = [...textBlock(0, ''), ...foreignBlock(1, server, ...pieces), ...foreignBlock(2, result), ...textBlock(3, 'Hi')];
    expect(blocksOf(...events)).toMatchObject([
      { type: 'content_block_start', index: 0, content_block: server },
      { type: 'content_block_delta', index: 0, delta: pieces[0] },
      { type: 'content_block_delta', index: 0, delta: pieces[1] },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: result },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2, content_block: { type: 'text' } },
      { type: 'content_block_delta', index: 2 },
      { type: 'content_block_stop', index: 2 },
    ]);
    expect(wholeOf(started, ...events, finished()).content).toMatchObject([
      { ...server, input: { q: 1 } },
      result,
      { type: 'text', text: 'Hi' },
    ]);
    expect(wholeOf(started, ...events, finished())['stop_reason']).toBe('end_turn');
  });

  it('can have deltas of any kind', () => {
    const start = blockStart(0, { $case: 'foreign', value: { json: JSON.stringify({ type: 'compaction', content: null, text: '' }) } });
    const events = [
      start,
      delta(0, 'text', 'plain'),
      delta(0, 'argumentsJson', '{}'),
      foreignDelta(0, { type: 'compaction_delta', content: 'a' }),
      foreignDelta(0, { type: 'compaction_delta', content: 'b' }),
      delta(0, 'signature', 's'),
      blockStop(0),
    ];
    expect(blocksOf(...events).map(({ delta: piece }) => (piece as { type: string } | undefined)?.type)).toEqual([
      undefined,
      'text_delta',
      'input_json_delta',
      'compaction_delta',
      'compaction_delta',
      'signature_delta',
      undefined,
    ]);
    expect(wholeOf(started, ...events, finished()).content).toEqual([
      { type: 'compaction', content: 'ab', text: 'plain', input: {}, signature: 's' },
    ]);
  });
});

describe('a foreign event', () => {
  it('is passed on unchanged under its own name, on one line', () => {
    const event: Event = {
      event: { $case: 'foreign', value: { json: '{\n"type":"vendor_event","big":12345678901234567890}', countedText: '', isEnd: false } },
    };
    const frames = streamed(messages, answerContext, [started, event, ...textBlock(0, 'Hi'), finished()]);
    expect(frames).toContain(
      'event: vendor_event\ndata: { "type":"vendor_event","big":12345678901234567890}\n\nevent: content_block_start',
    );
  });

  it('that announces an end waits for the end of the call, and none can replace our own', () => {
    const forbidden = ['message_stop', 'message_delta', 'error', 'message_start', 'content_block_start', 'bad\nname'].map((type) =>
      foreign({ type }),
    );
    const encoder = messages.stream(answerContext);
    const before = framesOf(encoder.push([started, ...forbidden, foreign({ type: 'turn_end' }, true), finished()]));
    expect(before.map(({ event }) => event)).toEqual(['message_start']);
    expect(framesOf(encoder.finish(counts)).map(({ event }) => event)).toEqual(['turn_end', 'message_delta', 'message_stop']);
  });
});

describe('a tool call id', () => {
  it('has the characters of the format, and is the id that upstreams of the format receive', () => {
    expect(['call_1-A', 'functions.f:0', 'a b'].map(messagesToolId)).toEqual(['call_1-A', 'functions_f_0_d6bdd4de', 'a_b_c8687a08']);
    expect(blocksOf(...toolBlock(0, 'functions.f:0', 'f'))[0]).toMatchObject({ content_block: { id: 'functions_f_0_d6bdd4de' } });
    expect(wholeOf(started, ...toolBlock(0, 'functions.f:0', 'f'), finished()).content[0]).toMatchObject({ id: 'functions_f_0_d6bdd4de' });
  });
});

it('does not affect the order of events before a special delta', () => {
  const events = [
    started,
    toolStart(0, 'a', 'f'),
    toolStart(1, 'b', 'g'),
    delta(1, 'argumentsJson', '{'),
    withRest(delta(1, 'argumentsJson', '"x"'), { v: 1 }),
    delta(1, 'argumentsJson', ':1}'),
    blockStop(1),
    blockStop(0),
    ...reasoningBlock(2, 'hm', 's'),
  ];
  expect(
    dataOf(...events, finished())
      .filter(({ type, index }) => type === 'content_block_delta' && index === 1)
      .map(({ delta: piece }) => piece),
  ).toEqual([
    { type: 'input_json_delta', partial_json: '{' },
    { type: 'input_json_delta', partial_json: '"x"', v: 1 },
    { type: 'input_json_delta', partial_json: ':1}' },
  ]);
});

it('does not lose text of a block that waits for its turn', () => {
  const cite = foreignDelta(1, { type: 'citations_delta', citation: { type: 'char_location' } });
  const waiting = [blockStart(1, { $case: 'text', value: {} }), withRest(delta(1, 'text', 'Hi'), { v: 1 }), cite, blockStop(1)];
  const pieces = blocksOf(toolStart(0, 'a', 'f'), ...waiting, blockStop(0)).filter(({ index }) => index === 1);
  expect(pieces.map(({ delta: piece }) => piece)).toEqual([
    undefined,
    { type: 'text_delta', text: 'Hi', v: 1 },
    { type: 'citations_delta', citation: { type: 'char_location' } },
    undefined,
  ]);
});

it('keeps reasoning in the whole answer even if the stream had only its length', () => {
  const events = [started, thinking, withRest(delta(0, 'text', ''), { estimated_tokens: 50 }), blockStop(0), finished()];
  expect(dataOf(...events)[1]).toMatchObject({ content_block: { type: 'thinking' } });
  expect(wholeOf(...events).content).toEqual([{ type: 'thinking', thinking: '', signature: '' }]);
});
