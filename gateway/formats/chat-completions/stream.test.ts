import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Event } from '#proto/inference/v1/inference.js';
import { AppError } from '#client/errors/app-error.js';
import {
  answerContext,
  blockStop,
  counts,
  delta,
  finished,
  foreign,
  reasoningBlock,
  refusalBlock,
  started,
  textBlock,
  toolBlock,
  toolStart,
} from '../testing/events.js';
import { expectToMatch, framesOf, streamed } from '../testing/frames.js';
import { chatCompletions } from './index.js';
import { ChatCompletionChunk } from './answer-schema.js';

type Chunk = { choices: { delta: Record<string, unknown>; finish_reason: string | null }[]; usage?: unknown };

const withUsage = { ...answerContext, includeUsage: true };

/** Returns the chunks of an answer without the terminator, each checked against the schema. */
function chunksOf(context: typeof answerContext, ...events: Event[]): Chunk[] {
  const frames = framesOf(streamed(chatCompletions, context, [started], events, [finished()]));
  expect(frames.pop()).toEqual({ event: undefined, data: '[DONE]' });
  for (const { event, data } of frames) {
    expect(event).toBeUndefined();
    expectToMatch(ChatCompletionChunk, data);
  }
  return frames.map(({ data }) => data as Chunk);
}

const deltasOf = (...events: Event[]): object[] => chunksOf(answerContext, ...events).map(({ choices }) => choices[0]!.delta);

describe('a chat-completions stream', () => {
  it('refuses more ends of other choices than an answer can have', () => {
    const stream = chatCompletions.stream(answerContext);
    const end = foreign({ choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] }, true);
    stream.push([started, ...Array.from({ length: 128 }, () => end)]);
    expect(() => stream.push([end])).toThrow('more often');
  });

  it('opens with the role, ends with one finish chunk and [DONE]', () => {
    const chunks = chunksOf(answerContext, ...textBlock(0, 'Hel', '', 'lo'));
    expect(chunks.map(({ choices }) => choices[0])).toEqual([
      { index: 0, delta: { role: 'assistant', content: '', refusal: null }, finish_reason: null },
      { index: 0, delta: { content: 'Hel' }, finish_reason: null },
      { index: 0, delta: { content: 'lo' }, finish_reason: null },
      { index: 0, delta: {}, finish_reason: 'stop' },
    ]);
    expect(chunks.map(({ choices: _choices, ...rest }) => rest)).toEqual(
      chunks.map(() => ({
        id: 'chatcmpl-0199aaaabbbbccccddddeeeeffff0000',
        object: 'chat.completion.chunk',
        created: 1_763_600_000,
        model: 'sandbox/echo',
      })),
    );
  });

  it('holds back the end until the usage is recorded', () => {
    const encoder = chatCompletions.stream(withUsage);
    const before = encoder.push([started, ...textBlock(0, 'Hi'), finished()]);
    expect(before).not.toContain('[DONE]');
    expect(before).not.toMatch(/"finish_reason":"/);
    expect(encoder.finish(counts)).toMatch(/"finish_reason":"stop"[^]*"prompt_tokens":127[^]*data: \[DONE\]\n\n$/);
  });

  it('sends usage only on request, in a separate chunk without choices, and null before (7.9 #5 and #7)', () => {
    const chunks = chunksOf(withUsage, ...textBlock(0, 'Hi'));
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 127, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 20 } },
    });
    expect(chunks.slice(0, -1).map(({ usage }) => usage)).toEqual([null, null, null]);
    for (const chunk of chunksOf(answerContext, ...textBlock(0, 'Hi'))) expect(chunk).not.toHaveProperty('usage');
  });

  it('gives each tool call its own index, and id, type and name once and first (7.9 #10 and #18)', () => {
    const deltas = deltasOf(...textBlock(0, 'I look.'), ...toolBlock(1, 'a', 'f', '{"x"', ':1}'), ...toolBlock(2, 'b', 'g'));
    expect(deltas.slice(2, -1)).toEqual([
      { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"x"' } }] },
      { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
      { tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '' } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{}' } }] },
    ]);
    expect(chunksOf(answerContext, ...toolBlock(0, 'a', 'f')).at(-1)!.choices[0]!.finish_reason).toBe('tool_calls');
  });

  it('passes interleaved parallel calls on by their indexes', () => {
    const events = [
      toolStart(0, 'a', 'f'),
      toolStart(1, 'b', 'g'),
      delta(1, 'argumentsJson', '{"b":1}'),
      delta(0, 'argumentsJson', '{"a":1}'),
      blockStop(0),
      blockStop(1),
    ];
    expect(deltasOf(...events).slice(3, 5)).toEqual([
      { tool_calls: [{ index: 1, function: { arguments: '{"b":1}' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] },
    ]);
  });

  it('distinguishes reasoning and refusals from text', () => {
    expect(deltasOf(...reasoningBlock(0, 'hmm'), ...refusalBlock(1, 'No.')).slice(0, 3)).toEqual([
      { role: 'assistant', content: '', refusal: null },
      { reasoning_content: 'hmm' },
      { refusal: 'No.' },
    ]);
  });

  it('sends signed reasoning once, whole and before the finish (7.9 #11)', () => {
    const deltas = deltasOf(...reasoningBlock(0, 'hmm', 'sig'), ...textBlock(1, 'Yes.'));
    expect(deltas.slice(-2)).toEqual([{ thinking_blocks: [{ type: 'thinking', thinking: 'hmm', signature: 'sig' }] }, {}]);
  });

  it('never contains an error key unless it is an error', () => {
    expect(streamed(chatCompletions, withUsage, [started, ...textBlock(0, 'Hi'), finished()])).not.toContain('"error"');
    const [frame] = framesOf(chatCompletions.errorFrame(new AppError('upstream_failed', 'The upstream broke off.'), 'req_1'));
    expect(frame).toMatchObject({
      event: undefined,
      data: { error: { message: 'The upstream broke off.', type: 'server_error', param: null, code: 'upstream_failed' } },
    });
  });

  it('is kept alive by comments, which every client ignores', () => {
    expect(chatCompletions.keepAlive).toMatch(/^:[^\n]*\n\n$/);
  });

  it('is never ended as complete if the upstream broke off', () => {
    const encoder = chatCompletions.stream(answerContext);
    encoder.push([started, ...textBlock(0, 'Hi')]);
    expect(() => encoder.finish(counts)).toThrow('finished');
  });

  it('is the same however the events are grouped', () => {
    const events = [
      started,
      ...reasoningBlock(0, 'hm', 's'),
      ...textBlock(1, 'a', '\u2028"\\', 'b'),
      ...toolBlock(2, 'a', 'f', '{', '}'),
      finished(),
    ];
    const whole = streamed(chatCompletions, withUsage, events);
    fc.assert(
      fc.property(fc.array(fc.nat(events.length)), (cuts) => {
        const bounds = [0, ...cuts.sort((left, right) => left - right), events.length];
        const groups = bounds.slice(1).map((end, index) => events.slice(bounds[index], end));
        expect(streamed(chatCompletions, withUsage, ...groups)).toBe(whole);
      }),
    );
  });
});
