import { describe, expect, it } from '@jest/globals';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import type { Block } from '../blocks.js';
import {
  answerContext,
  counts,
  finished,
  reasoningBlock,
  redactedBlock,
  refusalBlock,
  started,
  textBlock,
  toolBlock,
} from '../testing/events.js';
import { expectToMatch, whole } from '../testing/frames.js';
import { messages } from './index.js';
import { collectMessage, endOf } from './response.js';
import { MessageAnswer } from './answer-schema.js';

function answerOf(...events: Event[]): MessageAnswer {
  const outcome = events.at(-1)?.event?.$case === 'finished' ? [] : [finished()];
  const answer = whole(messages, answerContext, [started, ...events, ...outcome]) as MessageAnswer;
  expectToMatch(MessageAnswer, answer);
  return answer;
}

describe('a messages answer', () => {
  it('has the shape of the format, our id and the catalog’s model', () => {
    expect(answerOf(...textBlock(0, 'Hel', 'lo'))).toEqual({
      id: 'msg_0199aaaabbbbccccddddeeeeffff0000',
      type: 'message',
      role: 'assistant',
      model: 'sandbox/echo',
      container: null,
      diagnostics: null,
      content: [{ type: 'text', text: 'Hello', citations: null }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      usage: {
        input_tokens: 100,
        cache_creation_input_tokens: 7,
        cache_read_input_tokens: 20,
        cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
        output_tokens: 50,
        output_tokens_details: { thinking_tokens: 12 },
        server_tool_use: null,
        service_tier: 'standard',
        inference_geo: null,
        speed: 'standard',
      },
    });
  });

  it('counts input without tokens read from or written to the cache (7.9 #2, #3 and #4)', () => {
    const { usage } = answerOf(...textBlock(0, 'Hi'));
    expect(usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens).toBe(127);
  });

  it('keeps thinking with its signature, even without text (7.9 #11, #12 and #21)', () => {
    const { content } = answerOf(
      ...reasoningBlock(0, '', 'sig'),
      ...redactedBlock(1, 'sealed'),
      ...reasoningBlock(2, 'hmm'),
      ...textBlock(3, 'Yes.'),
    );
    expect(content).toEqual([
      { type: 'thinking', thinking: '', signature: 'sig' },
      { type: 'redacted_thinking', data: 'sealed' },
      { type: 'thinking', thinking: 'hmm', signature: '' },
      { type: 'text', text: 'Yes.', citations: null },
    ]);
  });

  it('has no empty blocks, which would be refused in the next turn (7.9 #17)', () => {
    expect(answerOf(...textBlock(0, ''), ...reasoningBlock(1, '')).content).toEqual([]);
  });

  it('turns arguments into an object, and passes on unchanged what is not an object', () => {
    const calls = [
      ...toolBlock(0, 'a', 'f', '{"x":', '1}'),
      ...toolBlock(1, 'b', 'f'),
      ...toolBlock(2, 'c', 'f', '{"x"'),
      ...toolBlock(3, 'd', 'f', '[1]'),
    ];
    const { content, stop_reason } = answerOf(...calls);
    expect(content[0]).toEqual({ type: 'tool_use', id: 'a', name: 'f', input: { x: 1 }, caller: { type: 'direct' } });
    expect(content.map((block) => ('input' in block ? block.input : undefined))).toEqual([{ x: 1 }, {}, { _raw: '{"x"' }, { _raw: '[1]' }]);
    expect(stop_reason).toBe('tool_use');
  });

  it('keeps the digits of large whole numbers in arguments', () => {
    const collector = messages.collector(answerContext);
    collector.push([started, ...toolBlock(0, 'a', 'f', '{"channel_id":1199137541', '837586493}'), finished()]);
    expect(JSON.stringify(collector.finish(counts))).toContain('"input":{"channel_id":1199137541837586493}');
  });

  it('returns a refusal as text with its own stop reason', () => {
    expect(answerOf(...refusalBlock(0, 'I may not.'))).toMatchObject({
      content: [{ type: 'text', text: 'I may not.' }],
      stop_reason: 'refusal',
      stop_details: { type: 'refusal' },
    });
  });

  it('is never rendered from a broken-off stream', () => {
    const collector = collectMessage(answerContext);
    collector.push([started, ...textBlock(0, 'Hel')]);
    expect(() => collector.finish(counts)).toThrow('finished');
  });
});

describe('the stop reason', () => {
  it.each<[StopReason, Block['kind'][], string]>([
    [StopReason.STOP_REASON_END, ['text'], 'end_turn'],
    [StopReason.STOP_REASON_STOP_SEQUENCE, ['text'], 'stop_sequence'],
    [StopReason.STOP_REASON_TOOL_CALLS, ['toolCall'], 'tool_use'],
    [StopReason.STOP_REASON_END, ['text', 'toolCall'], 'tool_use'],
    [StopReason.STOP_REASON_TOOL_CALLS, ['text'], 'end_turn'],
    [StopReason.STOP_REASON_MAX_TOKENS, ['toolCall'], 'max_tokens'],
    [StopReason.STOP_REASON_CONTEXT_FULL, ['text'], 'model_context_window_exceeded'],
    [StopReason.STOP_REASON_REFUSAL, ['text'], 'refusal'],
    [StopReason.STOP_REASON_END, ['refusal'], 'refusal'],
    [StopReason.STOP_REASON_UNSPECIFIED, [], 'end_turn'],
  ])('of %s with %j is %s', (stopReason, kinds, expected) => {
    expect(endOf(stopReason, '', new Set(kinds)).stop_reason).toBe(expected);
  });

  it('names the stop sequence that was reached, if it is known', () => {
    expect(endOf(StopReason.STOP_REASON_STOP_SEQUENCE, 'END', new Set())).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: 'END',
    });
    expect(endOf(StopReason.STOP_REASON_STOP_SEQUENCE, '', new Set())).toMatchObject({ stop_sequence: null });
  });
});
