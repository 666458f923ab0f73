import { describe, expect, it } from '@jest/globals';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
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
import { chatCompletions } from './index.js';
import { collectChatCompletion, finishReason } from './response.js';
import { ChatCompletion } from './answer-schema.js';

function answerOf(...events: Event[]): ChatCompletion {
  const outcome = events.at(-1)?.event?.$case === 'finished' ? [] : [finished()];
  const answer = whole(chatCompletions, answerContext, [started, ...events, ...outcome]) as ChatCompletion;
  expectToMatch(ChatCompletion, answer);
  return answer;
}

describe('a chat-completions answer', () => {
  it('has the shape of the format, our id and the catalog’s model', () => {
    expect(answerOf(...textBlock(0, 'Hel', 'lo'))).toEqual({
      id: 'chatcmpl-0199aaaabbbbccccddddeeeeffff0000',
      object: 'chat.completion',
      created: 1_763_600_000,
      model: 'sandbox/echo',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          logprobs: null,
          message: { role: 'assistant', content: 'Hello', refusal: null, annotations: [] },
        },
      ],
      usage: {
        prompt_tokens: 127,
        completion_tokens: 50,
        total_tokens: 177,
        prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 7, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 12, audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
      },
    });
  });

  it('keeps text alongside reasoning (7.9 #21)', () => {
    const { message } = answerOf(...reasoningBlock(0, 'hmm'), ...textBlock(1, 'Yes.')).choices[0]!;
    expect(message).toMatchObject({ content: 'Yes.', reasoning_content: 'hmm' });
    expect(message).not.toHaveProperty('thinking_blocks');
  });

  it('returns signed and sealed reasoning for the next turn (7.9 #11 and #12)', () => {
    const { message } = answerOf(...reasoningBlock(0, '', 'sig'), ...redactedBlock(1, 'sealed'), ...textBlock(2, 'Yes.')).choices[0]!;
    expect(message.thinking_blocks).toEqual([
      { type: 'thinking', thinking: '', signature: 'sig' },
      { type: 'redacted_thinking', data: 'sealed' },
    ]);
    expect(message).not.toHaveProperty('reasoning_content');
  });

  it('with tool calls has that finish reason, whatever the upstream sends, and null for absent text', () => {
    const [choice] = answerOf(...toolBlock(0, 'a', 'f', '{"x"', ':1}'), ...toolBlock(1, 'b', 'g')).choices;
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
    expect(choice!.message.tool_calls).toEqual([
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
    ]);
  });

  it('distinguishes a refusal from text', () => {
    expect(answerOf(...refusalBlock(0, 'I may not.')).choices[0]!.message).toMatchObject({ content: null, refusal: 'I may not.' });
  });

  it('without any content has an empty string, which every client can print', () => {
    expect(answerOf(finished(StopReason.STOP_REASON_MAX_TOKENS)).choices[0]).toMatchObject({
      finish_reason: 'length',
      message: { content: '' },
    });
  });

  it('is never rendered from a stream that broke off', () => {
    const collector = collectChatCompletion(answerContext);
    collector.push([started, ...textBlock(0, 'Hel')]);
    expect(() => collector.finish(counts)).toThrow('finished');
  });
});

describe('the finish reason', () => {
  it.each([
    [StopReason.STOP_REASON_END, false, 'stop'],
    [StopReason.STOP_REASON_STOP_SEQUENCE, false, 'stop'],
    [StopReason.STOP_REASON_TOOL_CALLS, true, 'tool_calls'],
    [StopReason.STOP_REASON_END, true, 'tool_calls'],
    [StopReason.STOP_REASON_TOOL_CALLS, false, 'stop'],
    [StopReason.STOP_REASON_MAX_TOKENS, true, 'length'],
    [StopReason.STOP_REASON_CONTEXT_FULL, false, 'length'],
    [StopReason.STOP_REASON_REFUSAL, false, 'content_filter'],
    [StopReason.STOP_REASON_UNSPECIFIED, false, 'stop'],
  ])('of stop reason %s with tool calls: %s is %s', (stopReason, hasToolCalls, expected) => {
    expect(finishReason(stopReason, { hasToolCalls, hasRefusal: false })).toBe(expected);
  });

  it('of a refusal that the model explains is stop', () => {
    expect(finishReason(StopReason.STOP_REASON_REFUSAL, { hasToolCalls: false, hasRefusal: true })).toBe('stop');
  });
});
