// What a messages upstream sends alongside the meaning, for callers of the same format.
import { describe, expect, it } from '@jest/globals';
import { StopReason } from '#proto/inference/v1/inference.js';
import { decoded } from '../../testing/fixtures.js';
import { MessagesDecoder } from './stream.js';

const target = { upstreamId: 'u', upstreamModel: 'm' };

const decode = (payloads: readonly object[], isNative = true) =>
  decoded(new MessagesDecoder({ target, requestId: '', droppedFields: [], isNative }), payloads);

const plainUsage = {
  input_tokens: 9,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: 1,
};
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm-1',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: plainUsage,
};
const start = { type: 'message_start', message };
const open = (content_block: object) => ({ type: 'content_block_start', index: 0, content_block });
const delta = (value: object) => ({ type: 'content_block_delta', index: 0, delta: value });
const close = { type: 'content_block_stop', index: 0 };
const outcome = (stop_reason = 'end_turn', rest: object = {}, usage: object = {}, event: object = {}) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null, ...rest },
  usage: { output_tokens: 5, ...usage },
  ...event,
});
const stop = { type: 'message_stop' };
const rests = (...payloads: object[]) =>
  decode(payloads).events.flatMap(({ event, extraJson }) =>
    extraJson === undefined ? [] : [[event!.$case, JSON.parse(extraJson) as unknown]],
  );
const endOf = (...payloads: object[]) => JSON.parse(decode([start, ...payloads, stop]).decoder.outcome?.extraJson ?? 'null') as unknown;

describe('the rest of a messages answer', () => {
  it('is empty if the meaning carries everything', () => {
    const { events, decoder } = decode([
      start,
      { type: 'ping' },
      open({ type: 'text', text: '' }),
      delta({ type: 'text_delta', text: 'Hi' }),
      close,
      outcome(),
      stop,
    ]);
    expect(events.map((event) => 'extraJson' in event)).toEqual(events.map(() => false));
    expect(decoder.outcome).toEqual({ stopReason: StopReason.STOP_REASON_END, stopSequence: '' });
  });

  it('reveals nothing of what the upstream charges the operator', () => {
    const paid = { cost: 0.3, is_byok: false, cost_details: { upstream_inference_cost: 0.2 } };
    const begun = { type: 'message_start', message: { ...message, billing: 'x', usage: { ...plainUsage, ...paid } } };
    const { events, decoder } = decode([begun, outcome('end_turn', {}, paid, { balance: 3 }), { ...stop, cost: 1 }]);
    expect(events.filter((event) => 'extraJson' in event)).toEqual([]);
    expect(decoder.outcome?.extraJson).toBeUndefined();
  });

  it('of the message is on its start, including usage that belongs to no class of tokens', () => {
    const usage = {
      ...plainUsage,
      service_tier: 'standard',
      server_tool_use: { web_search_requests: 1 },
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1d_input_tokens: 3 },
    };
    expect(rests({ type: 'message_start', message: { ...message, container: { id: 'c' }, novelty: 1, usage } }, outcome(), stop)).toEqual([
      [
        'started',
        {
          container: { id: 'c' },
          novelty: 1,
          usage: {
            service_tier: 'standard',
            server_tool_use: { web_search_requests: 1 },
            cache_creation: { ephemeral_1d_input_tokens: 3 },
          },
        },
      ],
    ]);
  });

  it('of blocks and deltas goes with them, whether or not they have text', () => {
    const call = open({ type: 'tool_use', id: 'a', name: 'f', input: {}, caller: { type: 'direct' } });
    expect(rests(start, call, close, outcome(), stop)).toEqual([['blockStart', { caller: { type: 'direct' } }]]);
    const thought = [
      open({ type: 'thinking', thinking: '', signature: '' }),
      delta({ type: 'thinking_delta', thinking: '', estimated_tokens: 50 }),
      { ...close, novelty: 1 },
    ];
    expect(rests(start, ...thought, outcome(), stop)).toEqual([
      ['blockDelta', { estimated_tokens: 50 }],
      ['blockStop', { novelty: 1 }],
    ]);
  });

  it('is a foreign delta where its type is unknown, and a foreign block where that is', () => {
    const citation = { type: 'citations_delta', citation: { type: 'char_location', cited_text: 'x' } };
    const { events } = decode([start, open({ type: 'text', text: '', citations: [] }), delta(citation), close, outcome(), stop]);
    expect(events[2]!.event).toEqual({
      $case: 'blockDelta',
      value: { index: 0, delta: { $case: 'foreignJson', value: JSON.stringify(citation) } },
    });
    const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
    const beam = { type: 'beam_delta', beam: 'up' };
    const foreign = decode([
      start,
      open(search),
      delta({ type: 'input_json_delta', partial_json: '{"q":1}' }),
      delta({ type: 'text_delta', text: 't' }),
      delta(beam),
      close,
      outcome(),
      stop,
    ]);
    expect(foreign.events.slice(1).map(({ event }) => event)).toEqual([
      { $case: 'blockStart', value: { index: 0, block: { $case: 'foreign', value: { json: JSON.stringify(search) } } } },
      { $case: 'blockDelta', value: { index: 0, delta: { $case: 'argumentsJson', value: '{"q":1}' } } },
      { $case: 'blockDelta', value: { index: 0, delta: { $case: 'foreignJson', value: '{"type":"text_delta","text":"t"}' } } },
      { $case: 'blockDelta', value: { index: 0, delta: { $case: 'foreignJson', value: JSON.stringify(beam) } } },
      { $case: 'blockStop', value: { index: 0 } },
    ]);
  });

  it('is a foreign event where its type is unknown, also before the first known one', () => {
    const news = { type: 'novelty', x: { y: 1 } };
    expect(decode([news, start, outcome(), stop]).events.map(({ event }) => event)).toEqual([
      { $case: 'started', value: { target, upstreamRequestId: '', upstreamReportedModel: '', droppedFields: [] } },
      { $case: 'foreign', value: { json: JSON.stringify(news), countedText: '', isEnd: false } },
    ]);
  });

  it('also has the other fields of an event next to its message, block or delta, even if the delta is empty', () => {
    const around = (event: object, value: number): object => ({ ...event, around: value, cost: 1 });
    const payloads = [
      around(start, 1),
      around(open({ type: 'text', text: '' }), 2),
      around(delta({ type: 'text_delta', text: '' }), 3),
      around(delta({ type: 'text_delta', text: 'Hi' }), 4),
      around(delta({ type: 'novel_delta' }), 5),
      close,
      around(open({ type: 'novel' }), 6),
      close,
      outcome(),
      stop,
    ];
    const besides = decode(payloads).events.flatMap(({ event, envelopeJson }) =>
      envelopeJson === undefined ? [] : [[event!.$case, JSON.parse(envelopeJson) as unknown]],
    );
    expect(besides).toEqual([
      ['started', { around: 1 }],
      ['blockStart', { around: 2 }],
      ['blockDelta', { around: 3 }],
      ['blockDelta', { around: 4 }],
      ['blockDelta', { around: 5 }],
      ['blockStart', { around: 6 }],
    ]);
    expect(decode(payloads, false).events.filter((event) => 'envelopeJson' in event)).toEqual([]);
  });

  it('reveals nothing of the operator’s account, even in events of unknown type', () => {
    const [, foreign] = decode([{ type: 'novelty', x: 1, cost: 0.01, balance: 7 }, start, outcome(), stop]).events;
    expect(foreign?.event).toMatchObject({ $case: 'foreign', value: { json: JSON.stringify({ type: 'novelty', x: 1 }) } });
  });

  it('of the end is collected from every message_delta and message_stop', () => {
    const details = { type: 'refusal', category: 'cyber', explanation: null };
    expect(
      endOf(
        outcome(
          'refusal',
          { stop_details: details },
          { server_tool_use: { web_search_requests: 2 } },
          { context_management: { applied_edits: [] } },
        ),
      ),
    ).toEqual({
      delta: { stop_details: details },
      usage: { server_tool_use: { web_search_requests: 2 } },
      context_management: { applied_edits: [] },
    });
    const early = { type: 'message_delta', delta: { container: { id: 'c' } }, usage: { output_tokens: 1, novelty: 1 } };
    expect(endOf(early, outcome('end_turn', {}, { novelty: 2 }), { ...stop, metrics: { n: 1 } })).toEqual({
      delta: { container: { id: 'c' } },
      usage: { novelty: 2 },
      metrics: { n: 1 },
    });
  });

  it('has the stop reason if it has no common form', () => {
    expect(endOf(outcome('pause_turn'))).toEqual({ delta: { stop_reason: 'pause_turn', stop_sequence: null } });
    expect(endOf(open({ type: 'novel_tool_use', id: 'a' }), close, outcome('tool_use'))).toEqual({
      delta: { stop_reason: 'tool_use', stop_sequence: null },
    });
    expect(endOf(open({ type: 'tool_use', id: 'a', name: 'f', input: {} }), close, outcome('tool_use'))).toBeNull();
  });

  it('is left out for callers of another format, without gaps between blocks', () => {
    const all = [
      { ...start, message: { ...message, novelty: 1 } },
      open({ type: 'server_tool_use', id: 's' }),
      close,
      { type: 'novelty' },
      open({ type: 'text', text: 'Hi', citations: null }),
      close,
      outcome('pause_turn', { container: null }),
      stop,
    ];
    const { events, decoder } = decode(all, false);
    expect(events.every((event) => event.extraJson === undefined)).toBe(true);
    expect(events.map(({ event }) => event!.$case)).toEqual(['started', 'blockStart', 'blockDelta', 'blockStop']);
    expect(events[1]!.event).toMatchObject({ value: { index: 0 } });
    expect(decoder.outcome).toEqual({ stopReason: StopReason.STOP_REASON_END, stopSequence: '' });
  });
});
