// The variants in which servers of this format differ from the vendor's stream. Each breaks an answer if it is not handled.
import { describe, expect, it } from '@jest/globals';
import { StopReason } from '#proto/inference/v1/inference.js';
import { decoded } from '../../testing/fixtures.js';
import { MessagesDecoder } from './stream.js';

const target = { upstreamId: 'u', upstreamModel: 'm' };
const decode = (payloads: readonly unknown[]) =>
  decoded(new MessagesDecoder({ target, requestId: '', droppedFields: [], isNative: false }), payloads);
const start = (usage: unknown = { input_tokens: 9, output_tokens: 1 }) => ({
  type: 'message_start',
  message: { id: 'msg_1', model: 'm-1', content: [], usage },
});
const open = (index: number | undefined, content_block: unknown) => ({ type: 'content_block_start', index, content_block });
const delta = (index: number | undefined, value: unknown) => ({ type: 'content_block_delta', index, delta: value });
const close = (index?: number) => ({ type: 'content_block_stop', index });
const outcome = (stop_reason: string | null, usage?: unknown) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null },
  usage,
});
const stop = { type: 'message_stop' };
const textBlock = (index: number | undefined, text: string) => [
  open(index, { type: 'text', text: '' }),
  delta(index, { type: 'text_delta', text }),
  close(index),
];

describe('a messages stream that differs from the vendor’s', () => {
  it.each<[string, unknown[], string[]]>([
    ['two message_start', [start(), start(), ...textBlock(0, 'Hi'), outcome('end_turn'), stop], ['started', '0:text', 'Hi', '0.']],
    [
      'gaps between indexes',
      [start(), ...textBlock(0, 'a'), ...textBlock(2, 'b'), outcome('end_turn'), stop],
      ['started', '0:text', 'a', '0.', '1:text', 'b', '1.'],
    ],
    [
      'no indexes at all',
      [start(), ...textBlock(undefined, 'a'), ...textBlock(undefined, 'b'), outcome('end_turn'), stop],
      ['started', '0:text', 'a', '0.', '1:text', 'b', '1.'],
    ],
    [
      'the same index twice',
      [start(), ...textBlock(0, 'a'), ...textBlock(0, 'b'), outcome('end_turn'), stop],
      ['started', '0:text', 'a', '0.', '1:text', 'b', '1.'],
    ],
    [
      'a text block without its field',
      [start(), open(0, { type: 'text' }), delta(0, { type: 'text_delta', text: 'Hi' }), close(0), outcome('end_turn'), stop],
      ['started', '0:text', 'Hi', '0.'],
    ],
    [
      'a thinking block without its fields',
      [start(), open(0, { type: 'thinking' }), delta(0, { type: 'thinking_delta', thinking: 'hmm' }), close(0), outcome('end_turn'), stop],
      ['started', '0:reasoning', 'hmm', '0.'],
    ],
    [
      'a tool input of empty text',
      [
        start(),
        open(0, { type: 'tool_use', id: 'a', name: 'f', input: '' }),
        delta(0, { type: 'input_json_delta', partial_json: '{"x":1}' }),
        close(0),
        outcome('tool_use'),
        stop,
      ],
      ['started', '0:toolCall(a,f)', '{"x":1}', '0.'],
    ],
    [
      'a tool input as text',
      [start(), open(0, { type: 'tool_use', id: 'a', name: 'f', input: '{"x":1}' }), close(0), outcome('tool_use'), stop],
      ['started', '0:toolCall(a,f)', '{"x":1}', '0.'],
    ],
    [
      'a tool input both whole and in fragments',
      [
        start(),
        open(0, { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } }),
        delta(0, { type: 'input_json_delta', partial_json: '{"x":1}' }),
        close(0),
        outcome('tool_use'),
        stop,
      ],
      ['started', '0:toolCall(a,f)', '{"x":1}', '0.'],
    ],
    [
      'an unfinished tool input',
      [
        start(),
        open(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }),
        delta(0, { type: 'input_json_delta', partial_json: '{"x":' }),
        close(0),
        outcome('max_tokens'),
        stop,
      ],
      ['started', '0:toolCall(a,f)', '{"x":', '0.'],
    ],
    ['a stop without a block', [start(), ...textBlock(0, 'Hi'), close(0), outcome('end_turn'), stop], ['started', '0:text', 'Hi', '0.']],
    [
      'a stop reason only in a second message_delta',
      [start(), ...textBlock(0, 'Hi'), outcome(null, { output_tokens: 1 }), outcome('end_turn'), stop],
      ['started', '0:text', 'Hi', '0.'],
    ],
    [
      'blocks, deltas and events of unknown types',
      [
        start(),
        { type: 'novelty' },
        open(0, { type: 'hologram' }),
        delta(0, { type: 'beam_delta' }),
        close(0),
        open(1, { type: 'text', text: 'Hi' }),
        delta(1, { type: 'beam_delta' }),
        close(1),
        outcome('end_turn'),
        stop,
      ],
      ['started', '0:text', 'Hi', '0.'],
    ],
  ])('with %s', (_name, payloads, expected) => {
    expect(decode(payloads).words).toEqual(expected);
  });

  it.each([
    ['after message_delta', [outcome('max_tokens', { output_tokens: 5 })], {}, StopReason.STOP_REASON_MAX_TOKENS],
    ['instead of message_delta', [], { stop_reason: 'max_tokens', usage: { output_tokens: 5 } }, StopReason.STOP_REASON_MAX_TOKENS],
    ['before message_stop', [outcome('end_turn', { output_tokens: 5 })], {}, StopReason.STOP_REASON_END, [stop]],
  ])('may end with the whole message %s, which is not repeated', (_where, before, fields, stopReason, after: unknown[] = []) => {
    const whole = { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Hi' }], ...fields };
    const { words, decoder } = decode([start(), ...textBlock(0, 'Hi'), ...before, whole, ...after]);
    expect(words).toEqual(['started', '0:text', 'Hi', '0.']);
    expect(decoder.outcome?.stopReason).toBe(stopReason);
    expect(decoder.report.output).toMatchObject({ outputTokens: 5 });
  });

  it('can be one JSON body, because the server does not stream', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm', signature: 'sig' },
      { type: 'text', text: 'Hi', citations: null },
      { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
      { type: 'tool_use', id: 'b', name: 'g', input: {} },
    ];
    const { words, decoder } = decode([
      { type: 'message', id: 'msg_1', model: 'm-1', content, stop_reason: 'tool_use', usage: { input_tokens: 9, output_tokens: 5 } },
    ]);
    expect(words).toEqual([
      'started',
      '0:reasoning',
      'Hm',
      'signature=sig',
      '0.',
      '1:text',
      'Hi',
      '1.',
      '2:toolCall(a,f)',
      '{"x":1}',
      '2.',
      '3:toolCall(b,g)',
      '{}',
      '3.',
    ]);
    expect(decoder.outcome?.stopReason).toBe(StopReason.STOP_REASON_TOOL_CALLS);
    expect(decoder.report.output).toEqual({ outputTokens: 5, reasoningTokens: 0 });
  });
});

describe('usage of a messages stream that differs from the vendor’s', () => {
  it('is not erased by a message_delta full of zeros', () => {
    const real = { input_tokens: 9, cache_read_input_tokens: 4, cache_creation_input_tokens: 2, output_tokens: 1 };
    const zeros = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 0 };
    const { decoder } = decode([start(real), ...textBlock(0, 'Hi'), outcome(null, { output_tokens: 7 }), outcome('end_turn', zeros), stop]);
    expect(decoder.report).toEqual({
      input: { inputTokens: 9, cacheReadTokens: 4, cacheWrite5mTokens: 2, cacheWrite1hTokens: 0 },
      output: { outputTokens: 7, reasoningTokens: 0 },
    });
  });

  it('uses input that is raised later, and keeps earlier values for fields that are null', () => {
    const later = {
      input_tokens: 100,
      cache_read_input_tokens: null,
      output_tokens: 7,
      output_tokens_details: null,
      server_tool_use: null,
    };
    const { decoder } = decode([
      start({ input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 1 }),
      ...textBlock(0, 'Hi'),
      outcome('end_turn', later),
      stop,
    ]);
    expect(decoder.report).toEqual({
      input: { inputTokens: 100, cacheReadTokens: 4, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 },
      output: { outputTokens: 7, reasoningTokens: 0 },
    });
  });
});
