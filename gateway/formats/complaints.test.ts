// What users of other gateways reported about answers (the field notes, section 4), shown not to happen here, streamed and whole.
import { describe, expect, it } from '@jest/globals';
import type { Event } from '#proto/inference/v1/inference.js';
import { chatCompletions } from './chat-completions/index.js';
import { messages } from './messages/index.js';
import {
  answerContext,
  blockStart,
  blockStop,
  counts,
  delta,
  finished,
  reasoningBlock,
  redactedBlock,
  started,
  textBlock,
  toolBlock,
  toolStart,
} from './testing/events.js';
import { framesOf, streamed, whole } from './testing/frames.js';

type Data = {
  type?: string;
  index?: number;
  delta?: Record<string, unknown>;
  choices?: { delta: Record<string, unknown>; finish_reason: string | null }[];
  [field: string]: unknown;
};

const of = (...events: Event[]): Event[] => [started, ...events, finished()];
const chat = (events: Event[], includeUsage = false): Data[] =>
  framesOf(streamed(chatCompletions, { ...answerContext, includeUsage }, events)).map(({ data }) => data as Data);
const chatDeltas = (events: Event[]): Record<string, unknown>[] =>
  chat(events)
    .flatMap(({ choices }) => choices ?? [])
    .map((choice) => choice.delta);
const message = (events: Event[]): Data[] => framesOf(streamed(messages, answerContext, events)).map(({ data }) => data as Data);
const completion = (events: Event[]): Record<string, unknown> =>
  (whole(chatCompletions, answerContext, events) as { choices: { message: Record<string, unknown> }[] }).choices[0]!.message;
const content = (events: Event[]): unknown => (whole(messages, answerContext, events) as { content: unknown }).content;

describe('complaints about other gateways', () => {
  it('1: arguments of a tool are lost in a stream', () => {
    const parts = ['{"path":"', 'a\\"b', '","n":', '1}'];
    const events = of(...toolBlock(0, 'a', 'f', ...parts));
    const fragments = chatDeltas(events).flatMap(
      ({ tool_calls: calls }) => (calls as { function: { arguments: string } }[] | undefined) ?? [],
    );
    expect(fragments.map((call) => call.function.arguments).join('')).toBe(parts.join(''));
    expect(
      message(events)
        .map(({ delta: piece }) => piece?.['partial_json'] ?? '')
        .join(''),
    ).toBe(parts.join(''));
    expect(content(events)).toMatchObject([{ input: { path: 'a"b', n: 1 } }]);
  });

  it('2: the first text after thinking is lost', () => {
    const events = of(...reasoningBlock(0, 'hmm', 'sig'), ...textBlock(1, 'First', ' second'));
    expect(
      chatDeltas(events)
        .map(({ content: text }) => text ?? '')
        .join(''),
    ).toBe('First second');
    expect(
      message(events)
        .filter(({ delta: piece }) => piece?.['type'] === 'text_delta')
        .map(({ delta: piece }) => piece!['text']),
    ).toEqual(['First', ' second']);
    expect(completion(events)['content']).toBe('First second');
    expect(content(events)).toMatchObject([{ type: 'thinking' }, { type: 'text', text: 'First second' }]);
  });

  it('3: an answer without tool calls has an empty list of them', () => {
    const events = of(...textBlock(0, 'Hi'));
    for (const piece of chatDeltas(events)) expect(piece).not.toHaveProperty('tool_calls');
    expect(completion(events)).not.toHaveProperty('tool_calls');
  });

  it('4: blocks have the index −1, or no start or stop', () => {
    const events = of(
      ...textBlock(3, 'a'),
      toolStart(7, 'a', 'f'),
      blockStart(9, { $case: 'text', value: {} }),
      delta(9, 'text', 'b'),
      delta(7, 'argumentsJson', '{}'),
      delta(1, 'text', 'of no block'),
    );
    expect(
      message(events)
        .slice(1, -2)
        .map(({ type, index }) => `${index} ${type!.replace('content_block_', '')}`),
    ).toEqual(['0 start', '0 delta', '0 stop', '1 start', '1 delta', '1 stop', '2 start', '2 delta', '2 stop']);
  });

  it('5: the index of a tool call is that of its block', () => {
    const calls = chatDeltas(
      of(...textBlock(0, 'a'), ...toolBlock(1, 'a', 'f', '{}'), ...textBlock(2, 'b'), ...toolBlock(3, 'b', 'g', '{}')),
    ).flatMap(({ tool_calls: list }) => (list as { index: number }[] | undefined) ?? []);
    expect(calls.map(({ index }) => index)).toEqual([0, 0, 1, 1]);
  });

  it('6: a stream with only usage does not end', () => {
    expect(message(of()).map(({ type }) => type)).toEqual(['message_start', 'message_delta', 'message_stop']);
    expect(chat(of(), true).map((data) => data.choices?.map((choice) => choice.finish_reason) ?? data)).toEqual([
      [null],
      ['stop'],
      [],
      '[DONE]',
    ]);
  });

  it('7: the usage chunk has choices, or usage is in the finish chunk', () => {
    const chunks = chat(of(...textBlock(0, 'Hi')), true).slice(0, -1);
    expect(chunks.filter(({ usage }) => usage !== null).map(({ choices }) => choices)).toEqual([[]]);
  });

  it('8: message_start reports no usage', () => {
    expect(message(of())[0]).toMatchObject({ message: { usage: { input_tokens: 17 } } });
    const counted = framesOf(streamed(messages, { ...answerContext, inputEstimate: counts }, of()))[0];
    expect(counted).toMatchObject({
      data: { message: { usage: { input_tokens: 100, cache_read_input_tokens: 20, cache_creation_input_tokens: 7, output_tokens: 1 } } },
    });
  });

  it('10: the first chunk has no role', () => {
    for (const events of [of(), of(...toolBlock(0, 'a', 'f')), of(...reasoningBlock(0, 'hm'))]) {
      expect(chat(events)[0]).toMatchObject({ choices: [{ delta: { role: 'assistant', content: '' }, finish_reason: null }] });
    }
  });

  it('11: thinking appears in the content, or is returned in another order', () => {
    const events = of(
      ...reasoningBlock(0, 'one', 's1'),
      ...redactedBlock(1, 'sealed'),
      ...toolBlock(2, 'a', 'f'),
      ...reasoningBlock(3, 'two', 's2'),
      ...textBlock(4, 'Text.'),
      blockStop(9),
    );
    expect(content(events)).toMatchObject([
      { type: 'thinking', thinking: 'one', signature: 's1' },
      { type: 'redacted_thinking', data: 'sealed' },
      { type: 'tool_use' },
      { type: 'thinking', thinking: 'two', signature: 's2' },
      { type: 'text', text: 'Text.' },
    ]);
    const blocks = [
      { type: 'thinking', thinking: 'one', signature: 's1' },
      { type: 'redacted_thinking', data: 'sealed' },
      { type: 'thinking', thinking: 'two', signature: 's2' },
    ];
    expect(completion(events)).toMatchObject({ content: 'Text.', reasoning_content: 'onetwo', thinking_blocks: blocks });
    expect(chatDeltas(events).flatMap(({ thinking_blocks: list }) => (list === undefined ? [] : [list]))).toEqual([blocks]);
  });
});
