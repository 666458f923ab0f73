import { describe, expect, it } from '@jest/globals';
import { raisedBy } from '#kit/testing/waiting.js';
import { StopReason } from '#proto/inference/v1/inference.js';
import { decoded } from '../../testing/fixtures.js';
import { MessagesDecoder } from './stream.js';

const target = { upstreamId: 'u', upstreamModel: 'm' };

const decode = (payloads: readonly unknown[]) =>
  decoded(new MessagesDecoder({ target, requestId: '', droppedFields: ['seed'], isNative: false }), payloads);
const start = (usage: unknown = { input_tokens: 9, output_tokens: 1 }) => ({
  type: 'message_start',
  message: { id: 'msg_1', model: 'm-1', content: [], usage },
});
const open = (index: number, content_block: unknown) => ({ type: 'content_block_start', index, content_block });
const delta = (index: number, value: unknown) => ({ type: 'content_block_delta', index, delta: value });
const close = (index: number) => ({ type: 'content_block_stop', index });
const outcome = (stop_reason: string, usage?: unknown, stop_sequence: string | null = null) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence },
  usage,
});
const stop = { type: 'message_stop' };
const text = [open(0, { type: 'text', text: '' }), delta(0, { type: 'text_delta', text: 'Hi' }), close(0)];
const words = (...payloads: unknown[]) => decode(payloads).words;
const reasonOf = (...payloads: unknown[]): string => raisedBy(() => decode(payloads)).reason;

describe('a messages stream', () => {
  it('begins with message_start, which names the model and the message', () => {
    const [started] = new MessagesDecoder({ target, requestId: '', droppedFields: ['seed'], isNative: false }).push(
      JSON.stringify(start()),
    );
    expect(started?.event).toEqual({
      $case: 'started',
      value: { target, upstreamRequestId: 'msg_1', upstreamReportedModel: 'm-1', droppedFields: ['seed'] },
    });
  });

  it('carries text, with pings and unknown events in between', () => {
    expect(words(start(), { type: 'ping' }, ...text.slice(0, 1), { type: 'news' }, ...text.slice(1), outcome('end_turn'), stop)).toEqual([
      'started',
      '0:text',
      'Hi',
      '0.',
    ]);
  });

  it('carries text that is given at the start of its block', () => {
    expect(words(start(), open(0, { type: 'text', text: 'Hi' }), close(0), outcome('end_turn'), stop)).toEqual([
      'started',
      '0:text',
      'Hi',
      '0.',
    ]);
  });

  it('carries thinking with its signature, and keeps a block that has nothing else', () => {
    const thinking = [
      open(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Hm' }),
      delta(0, { type: 'signature_delta', signature: 'sig' }),
      close(0),
    ];
    expect(words(start(), ...thinking, outcome('end_turn'), stop)).toEqual(['started', '0:reasoning', 'Hm', 'signature=sig', '0.']);
    expect(words(start(), thinking[0], thinking[2], thinking[3], outcome('end_turn'), stop)).toEqual([
      'started',
      '0:reasoning',
      'signature=sig',
      '0.',
    ]);
  });

  it('carries redacted thinking', () => {
    expect(words(start(), open(0, { type: 'redacted_thinking', data: 'opaque' }), close(0), outcome('end_turn'), stop)).toEqual([
      'started',
      '0:reasoningopaque',
      '0.',
    ]);
  });

  it('carries tool calls; one without fragments has an empty object', () => {
    const call = (index: number, id: string) => open(index, { type: 'tool_use', id, name: 'f', input: {} });
    const fragment = (index: number, partial_json: string) => delta(index, { type: 'input_json_delta', partial_json });
    expect(
      words(
        start(),
        call(0, 'a'),
        fragment(0, ''),
        fragment(0, '{"x"'),
        fragment(0, ':1}'),
        close(0),
        call(1, 'b'),
        fragment(1, ''),
        close(1),
        outcome('tool_use'),
        stop,
      ),
    ).toEqual(['started', '0:toolCall(a,f)', '{"x":1}', '0.', '1:toolCall(b,f)', '{}', '1.']);
  });

  it('carries a tool input that is given whole at the start', () => {
    const whole = open(0, { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } });
    expect(words(start(), whole, close(0), outcome('tool_use'), stop)).toEqual(['started', '0:toolCall(a,f)', '{"x":1}', '0.']);
  });

  it('skips blocks of server tools, and numbers the others without gaps', () => {
    const search = [
      open(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '{}' }),
      close(0),
    ];
    const said = [
      open(1, { type: 'text', text: '' }),
      delta(1, { type: 'text_delta', text: 'Hi' }),
      delta(1, { type: 'citations_delta', citation: {} }),
      close(1),
    ];
    expect(words(start(), ...search, ...said, outcome('end_turn'), stop)).toEqual(['started', '0:text', 'Hi', '0.']);
  });

  it("tolerates a missing message_start, a missing block stop and the other format's end marker", () => {
    expect(words(...text, outcome('end_turn'), stop, '[DONE]')).toEqual(['started', '0:text', 'Hi', '0.']);
    expect(words(start(), ...text.slice(0, 2), open(1, { type: 'text', text: 'ho' }), outcome('end_turn'), stop)).toEqual([
      'started',
      '0:text',
      'Hi',
      '0.',
      '1:text',
      'ho',
      '1.',
    ]);
  });
});

describe('the end of a messages stream', () => {
  it.each([
    ['end_turn', StopReason.STOP_REASON_END],
    ['max_tokens', StopReason.STOP_REASON_MAX_TOKENS],
    ['tool_use', StopReason.STOP_REASON_END],
    ['refusal', StopReason.STOP_REASON_REFUSAL],
    ['model_context_window_exceeded', StopReason.STOP_REASON_CONTEXT_FULL],
    ['pause_turn', StopReason.STOP_REASON_END],
    ['constructor', StopReason.STOP_REASON_END],
  ])('%s after text', (label, expected) => {
    expect(decode([start(), ...text, outcome(label), stop]).decoder.outcome?.stopReason).toBe(expected);
  });

  it('reports which stop sequence was reached', () => {
    expect(decode([start(), ...text, outcome('stop_sequence', undefined, 'END'), stop]).decoder.outcome).toEqual({
      stopReason: StopReason.STOP_REASON_STOP_SEQUENCE,
      stopSequence: 'END',
    });
  });

  it('is a tool call whenever one was made', () => {
    const call = [open(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }), close(0)];
    expect(decode([start(), ...call, outcome('end_turn'), stop]).decoder.outcome?.stopReason).toBe(StopReason.STOP_REASON_TOOL_CALLS);
  });

  it('may lack its last marker, but not its reason', () => {
    expect(words(start(), ...text, outcome('end_turn'))).toEqual(['started', '0:text', 'Hi', '0.']);
    expect(reasonOf(start(), ...text)).toBe('upstream_failed');
    expect(reasonOf()).toBe('upstream_failed');
  });

  it('may lack its message_delta, as with some resellers, but then not its message_stop', () => {
    expect(words(start(), ...text, stop)).toEqual(['started', '0:text', 'Hi', '0.']);
    expect(decode([start(), ...text, stop]).decoder.outcome).toEqual({ stopReason: StopReason.STOP_REASON_END, stopSequence: '' });
    expect(reasonOf(stop)).toBe('upstream_failed');
  });
});

describe('usage of a messages stream', () => {
  const reported = (...payloads: unknown[]) => decode([...payloads, stop]).decoder.report;

  it('is merged field by field: input at the start, totals at the end', () => {
    const first = start({
      input_tokens: 9,
      cache_read_input_tokens: 5,
      cache_creation_input_tokens: 7,
      cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 3 },
      output_tokens: 1,
    });
    expect(reported(first, outcome('end_turn', { output_tokens: 40, output_tokens_details: { thinking_tokens: 12 } }))).toEqual({
      input: { inputTokens: 9, cacheReadTokens: 5, cacheWrite5mTokens: 4, cacheWrite1hTokens: 3 },
      output: { outputTokens: 40, reasoningTokens: 12 },
    });
  });

  it('replaces earlier totals by later ones, but never real input by a later zero', () => {
    const early = { type: 'message_delta', delta: {}, usage: { input_tokens: 100, output_tokens: 3 } };
    expect(reported(start(), early, outcome('end_turn', { input_tokens: 0, cache_read_input_tokens: null, output_tokens: 8 }))).toEqual({
      input: { inputTokens: 100, cacheReadTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 },
      output: { outputTokens: 8, reasoningTokens: 0 },
    });
  });

  it('counts cache writes as living five minutes when only their sum is given', () => {
    expect(
      reported(start({ input_tokens: 1, cache_creation_input_tokens: 6 }), outcome('end_turn', { output_tokens: 1 })).input,
    ).toMatchObject({ cacheWrite5mTokens: 6, cacheWrite1hTokens: 0 });
  });

  it('does not count the placeholder of message_start as output', () => {
    expect(reported(start(), outcome('end_turn')).output).toBeUndefined();
  });

  it.each([
    [{ input_tokens: -1 }, 'not_a_count'],
    [{ input_tokens: 1, cache_read_input_tokens: '3' }, 'not_a_count'],
    [
      { input_tokens: 1, cache_creation_input_tokens: 2, cache_creation: { ephemeral_1h_input_tokens: 3 } },
      'cache_write_parts_above_total',
    ],
  ])('that breaks a rule says which: %j', (usage, fault) => {
    expect(reported(start(usage), outcome('end_turn', { output_tokens: 1 })).input).toBe(fault);
  });
});

describe('a messages stream that fails', () => {
  const error = (type: string, message = 'x') => ({ type: 'error', error: { type, message } });

  it.each([
    [error('overloaded_error'), 'upstream_overloaded'],
    [error('rate_limit_error'), 'upstream_rate_limited'],
    [error('api_error'), 'upstream_failed'],
    [error('timeout_error'), 'upstream_timeout'],
    [error('authentication_error'), 'upstream_unavailable'],
    [error('billing_error'), 'upstream_unavailable'],
    [error('invalid_request_error'), 'upstream_rejected'],
    [error('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'), 'context_length_exceeded'],
    [error('something_new'), 'upstream_failed'],
    [{ type: 'error' }, 'upstream_failed'],
    [{ error: { type: 'overloaded_error', message: 'x' } }, 'upstream_overloaded'],
    ['{"type":', 'upstream_failed'],
    [delta(0, { type: 'text_delta', text: 'x' }), 'upstream_failed'],
    [open(0, null), 'upstream_failed'],
    [open(0, { type: 'tool_use', name: 'f', input: {} }), 'upstream_failed'],
    [{ type: 'message_start' }, 'upstream_failed'],
  ])('%j', (payload, reason) => {
    expect(reasonOf(start(), payload)).toBe(reason);
  });

  it('with a delta that does not belong to its block', () => {
    expect(reasonOf(start(), text[0], delta(0, { type: 'thinking_delta', thinking: 'x' }))).toBe('upstream_failed');
  });
});
