import { describe, expect, it } from '@jest/globals';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import {
  answerContext,
  blockStart,
  blockStop,
  counts,
  customBlock,
  delta,
  finished,
  foreign,
  started,
  textBlock,
  toolBlock,
  toolStart,
  withRest,
} from '../testing/events.js';
import { framesOf, streamed, whole } from '../testing/frames.js';
import { chatCompletions } from './index.js';

interface Chunk {
  choices: { index: number; delta: Record<string, unknown>; finish_reason: string | null; [field: string]: unknown }[];
  [field: string]: unknown;
}

const withUsage = { ...answerContext, includeUsage: true };

function chunksOf(...events: Event[]): Chunk[] {
  return framesOf(streamed(chatCompletions, answerContext, events))
    .slice(0, -1)
    .map(({ data }) => data as Chunk);
}

function wholeOf(...events: Event[]): {
  choices: { message: Record<string, unknown>; [field: string]: unknown }[];
  [field: string]: unknown;
} {
  return whole(chatCompletions, answerContext, events) as ReturnType<typeof wholeOf>;
}

const choice = (fields: object): object => ({ choices: [{ index: 0, ...fields }] });
const logprob = (token: string): object => ({ token, logprob: -0.1, bytes: null, top_logprobs: [] });
const text = blockStart(0, { $case: 'text', value: {} });

describe('what an upstream sends alongside the meaning of its chunks', () => {
  it('is in the head of every chunk if it belongs to the whole answer; lists and objects only once', () => {
    const rest = { system_fingerprint: 'fp_1', service_tier: 'default', prompt_filter_results: [{ prompt_index: 0 }] };
    const events = [withRest(started, rest), ...textBlock(0, 'Hi'), finished()];
    expect(chunksOf(...events).map(({ system_fingerprint: fingerprint, service_tier: tier }) => [fingerprint, tier])).toEqual(
      Array(3).fill(['fp_1', 'default']),
    );
    expect(chunksOf(...events).filter((chunk) => 'prompt_filter_results' in chunk)).toHaveLength(1);
    expect(wholeOf(...events)).toMatchObject(rest);
  });

  it('differs in the chunk that changes it, without duplicate keys', () => {
    const events = [
      withRest(started, { service_tier: 'auto' }),
      text,
      withRest(delta(0, 'text', 'a'), { service_tier: 'flex', vendor: { x: 1 } }),
      delta(0, 'text', 'b'),
      blockStop(0),
      finished(),
    ];
    const frames = streamed(chatCompletions, answerContext, events);
    expect(
      frames
        .split('\n')
        .find((line) => line.includes('flex'))!
        .match(/"service_tier"/g),
    ).toHaveLength(1);
    expect(chunksOf(...events).map(({ service_tier: tier, vendor }) => [tier, vendor])).toEqual([
      ['auto', undefined],
      ['flex', { x: 1 }],
      ['auto', undefined],
      ['auto', undefined],
    ]);
    expect(wholeOf(...events)).toMatchObject({ service_tier: 'flex', vendor: { x: 1 } });
  });

  it('never reveals who answered, what it cost or that it failed', () => {
    const rest = { id: 'theirs', object: 'theirs', created: 1, model: 'theirs', usage: { prompt_tokens: 1 }, error: null, choices: [] };
    const events = [
      withRest(started, rest),
      text,
      withRest(delta(0, 'text', 'a'), rest),
      blockStop(0),
      foreign(rest),
      withRest(finished(), rest),
    ];
    for (const chunk of chunksOf(...events)) {
      expect(chunk).toMatchObject({
        id: 'chatcmpl-0199aaaabbbbccccddddeeeeffff0000',
        object: 'chat.completion.chunk',
        created: 1_763_600_000,
        model: 'sandbox/echo',
      });
      expect(chunk).not.toHaveProperty('error');
      expect(chunk).not.toHaveProperty('usage');
    }
    expect(wholeOf(...events)).toMatchObject({
      id: 'chatcmpl-0199aaaabbbbccccddddeeeeffff0000',
      object: 'chat.completion',
      created: 1_763_600_000,
      model: 'sandbox/echo',
      usage: { prompt_tokens: 127 },
    });
  });

  it('keeps log probabilities alongside their texts, and joins them in a whole answer', () => {
    const events = [
      started,
      text,
      withRest(delta(0, 'text', 'a'), choice({ logprobs: { content: [logprob('a')], refusal: null } })),
      withRest(delta(0, 'text', 'b'), choice({ logprobs: { content: [logprob('b')], refusal: null } })),
      blockStop(0),
      finished(),
    ];
    expect(chunksOf(...events)[2]!.choices).toEqual([
      { index: 0, delta: { content: 'b' }, logprobs: { content: [logprob('b')], refusal: null }, finish_reason: null },
    ]);
    expect(wholeOf(...events).choices[0]).toMatchObject({
      logprobs: { content: [logprob('a'), logprob('b')], refusal: null },
      message: { content: 'ab' },
    });
  });

  it('is alongside the delta, where our fields take precedence', () => {
    const piece = (value: string): object =>
      choice({ delta: { reasoning_details: [{ index: 0, type: 'reasoning.text', text: value }], content: 'theirs', role: 'user' } });
    const events = [
      started,
      text,
      withRest(delta(0, 'text', 'a'), piece('x')),
      withRest(delta(0, 'text', 'b'), piece('y')),
      blockStop(0),
      finished(),
    ];
    expect(chunksOf(...events)[1]!.choices[0]!.delta).toEqual({
      content: 'a',
      reasoning_details: [{ index: 0, type: 'reasoning.text', text: 'x' }],
    });
    expect(wholeOf(...events).choices[0]!.message).toMatchObject({
      role: 'assistant',
      content: 'ab',
      reasoning_details: [{ index: 0, type: 'reasoning.text', text: 'xy' }],
    });
  });

  it('stays with its tool call, by our own index', () => {
    const signed = {
      delta: {
        tool_calls: [
          {
            index: 7,
            id: 'theirs',
            function: { name: 'theirs', arguments: 'theirs', parsed: true },
            extra_content: { google: { thought_signature: 's' } },
          },
        ],
      },
    };
    const events = [
      started,
      ...toolBlock(0, 'a', 'f', '{}'),
      withRest(toolStart(1, 'b', 'g'), choice(signed)),
      delta(1, 'argumentsJson', '{"x":1}'),
      blockStop(1),
      finished(),
    ];
    expect(chunksOf(...events)[3]!.choices[0]!.delta).toEqual({
      tool_calls: [
        {
          index: 1,
          id: 'b',
          type: 'function',
          function: { name: 'g', arguments: '', parsed: true },
          extra_content: { google: { thought_signature: 's' } },
        },
      ],
    });
    expect(wholeOf(...events).choices[0]!.message['tool_calls']).toEqual([
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } },
      {
        id: 'b',
        type: 'function',
        function: { name: 'g', arguments: '{"x":1}', parsed: true },
        extra_content: { google: { thought_signature: 's' } },
      },
    ]);
  });

  it('of a call other than the event’s is sent alongside it', () => {
    const signed = { delta: { tool_calls: [{ index: 0, extra_content: 's' }] } };
    const events = [started, ...toolBlock(0, 'a', 'f', '{}'), withRest(toolStart(1, 'b', 'g'), choice(signed)), blockStop(1), finished()];
    expect(chunksOf(...events)[3]!.choices[0]!.delta).toEqual({
      tool_calls: [
        { index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '' } },
        { index: 0, function: { arguments: '' }, extra_content: 's' },
      ],
    });
    expect(wholeOf(...events).choices[0]!.message['tool_calls']).toMatchObject([{ id: 'a', extra_content: 's' }, { id: 'b' }]);
  });

  it('gets its own chunk if the event has none, and no fragment for a call that never began', () => {
    const events = [
      started,
      withRest(text, { vendor: 1 }),
      withRest(blockStop(0), choice({ delta: { annotations: [{ type: 'url_citation' }], tool_calls: [{ index: 3, x: 1 }] } })),
      finished(),
    ];
    expect(chunksOf(...events).slice(1, 3)).toMatchObject([
      { vendor: 1, choices: [{ delta: {} }] },
      { choices: [{ index: 0, delta: { annotations: [{ type: 'url_citation' }] } }] },
    ]);
    expect(chunksOf(...events)[2]!.choices[0]!.delta).not.toHaveProperty('tool_calls');
    expect(wholeOf(...events).choices[0]!.message).toMatchObject({ annotations: [{ type: 'url_citation' }] });
  });

  it('at the end is in the finish chunk and in the usage, where the recorded counts take precedence', () => {
    const rest = {
      service_tier: 'priority',
      choices: [{ index: 0, content_filter_results: { hate: { filtered: false } } }],
      usage: {
        prompt_tokens: 1,
        cost: 0.5,
        prompt_tokens_details: { cached_tokens: 9, image_tokens: 3 },
        completion_tokens_details: { audio_tokens: 4 },
      },
    };
    const events = [started, ...textBlock(0, 'Hi'), withRest(finished(), rest)];
    const frames = framesOf(streamed(chatCompletions, withUsage, events)).map(({ data }) => data as Chunk);
    expect(frames.at(-3)).toMatchObject({
      service_tier: 'priority',
      usage: null,
      choices: [{ finish_reason: 'stop', content_filter_results: { hate: { filtered: false } } }],
    });
    const usage = {
      prompt_tokens: 127,
      cost: 0.5,
      prompt_tokens_details: { cached_tokens: 20, image_tokens: 3, audio_tokens: 0 },
      completion_tokens_details: { audio_tokens: 4, reasoning_tokens: 12 },
    };
    expect(frames.at(-2)).toMatchObject({ choices: [], usage });
    expect(wholeOf(...events)).toMatchObject({
      service_tier: 'priority',
      usage,
      choices: [{ finish_reason: 'stop', content_filter_results: { hate: { filtered: false } } }],
    });
  });

  it.each([
    [[], StopReason.STOP_REASON_END, 'insufficient "system" resource', 'insufficient "system" resource'],
    [toolBlock(0, 'a', 'f'), StopReason.STOP_REASON_END, 'eos', 'tool_calls'],
    [[], StopReason.STOP_REASON_MAX_TOKENS, 'eos', 'length'],
    [toolBlock(0, 'a', 'f'), StopReason.STOP_REASON_END, 'stop', 'tool_calls'],
  ])('has the upstream’s own finish reason unless the answer decides otherwise (%#)', (blocks, stopReason, native, expected) => {
    const events = [started, ...blocks, withRest(finished(stopReason), choice({ finish_reason: native }))];
    expect(chunksOf(...events).at(-1)!.choices[0]!.finish_reason).toBe(expected);
    expect(wholeOf(...events).choices[0]!['finish_reason']).toBe(expected);
  });
});

describe('a foreign piece', () => {
  it('is a separate chunk with our head', () => {
    const events = [
      started,
      foreign({ vendor: 1, choices: [{ index: 0, delta: {}, logprobs: { content: [logprob('x')], refusal: null } }] }),
      foreign({ moderation: { flagged: false } }),
      finished(),
    ];
    expect(chunksOf(...events).slice(1, 3)).toMatchObject([
      { model: 'sandbox/echo', vendor: 1, choices: [{ index: 0, delta: {}, finish_reason: null, logprobs: { content: [logprob('x')] } }] },
      { model: 'sandbox/echo', moderation: { flagged: false }, choices: [{ index: 0, delta: {}, finish_reason: null }] },
    ]);
    expect(wholeOf(...events)).toMatchObject({
      vendor: 1,
      moderation: { flagged: false },
      choices: [{ logprobs: { content: [logprob('x')] } }],
    });
  });

  it('of another choice is passed on unchanged, and its end is held until the end of the call', () => {
    const other = (index: number, fields: object): object => ({ choices: [{ index, finish_reason: null, ...fields }] });
    const events = [
      started,
      foreign(other(2, { delta: { role: 'assistant', content: 'C' } })),
      foreign(other(1, { delta: { role: 'assistant', content: '' } })),
      ...textBlock(0, 'A'),
      foreign(other(1, { delta: { tool_calls: [{ index: 1, id: 'y', type: 'function', function: { name: 'g', arguments: '{}' } }] } })),
      foreign(other(1, { delta: { tool_calls: [{ index: 0, id: 'x', type: 'function', function: { name: 'f', arguments: '{"a"' } }] } })),
      foreign(other(1, { delta: { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] } })),
      foreign(other(1, { delta: {}, finish_reason: 'tool_calls' }), true),
      foreign(other(2, { delta: { content: 'c' }, logprobs: { content: [logprob('c')], refusal: null } })),
      foreign(other(2, { delta: {}, finish_reason: 'length' }), true),
      finished(),
    ];
    const encoder = chatCompletions.stream(answerContext);
    expect(encoder.push(events)).not.toMatch(/"finish_reason":"/);
    expect(
      framesOf(encoder.finish(counts)).map(({ data }) =>
        (data as Chunk).choices?.map(({ index, finish_reason: reason }) => [index, reason]),
      ),
    ).toEqual([[[1, 'tool_calls']], [[2, 'length']], [[0, 'stop']], undefined]);
    expect(wholeOf(...events).choices).toMatchObject([
      { index: 0, finish_reason: 'stop', message: { content: 'A' } },
      {
        index: 1,
        finish_reason: 'tool_calls',
        logprobs: null,
        message: {
          role: 'assistant',
          refusal: null,
          tool_calls: [
            { id: 'x', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
            { id: 'y', type: 'function', function: { name: 'g', arguments: '{}' } },
          ],
        },
      },
      { index: 2, finish_reason: 'length', message: { content: 'Cc' }, logprobs: { content: [logprob('c')] } },
    ]);
    expect(JSON.stringify(wholeOf(...events).choices[1]!.message['tool_calls'])).not.toContain('"index"');
  });
});

describe('a call of a custom tool', () => {
  it('has its own shape, whose input is text', () => {
    const events = [started, ...customBlock(0, 'a', 'sh', 'ls ', '-l'), ...customBlock(1, 'b', 'noop'), finished()];
    expect(
      chunksOf(...events)
        .slice(1, -1)
        .map(({ choices }) => choices[0]!.delta),
    ).toEqual([
      { tool_calls: [{ index: 0, id: 'a', type: 'custom', custom: { name: 'sh', input: '' } }] },
      { tool_calls: [{ index: 0, custom: { input: 'ls ' } }] },
      { tool_calls: [{ index: 0, custom: { input: '-l' } }] },
      { tool_calls: [{ index: 1, id: 'b', type: 'custom', custom: { name: 'noop', input: '' } }] },
    ]);
    expect(wholeOf(...events).choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        tool_calls: [
          { id: 'a', type: 'custom', custom: { name: 'sh', input: 'ls -l' } },
          { id: 'b', type: 'custom', custom: { name: 'noop', input: '' } },
        ],
      },
    });
  });
});
