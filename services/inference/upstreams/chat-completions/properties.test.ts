import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AppError } from '#client/errors/app-error.js';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import { completionFrames } from '../../../../tests/upstream/answers/chat-completions.js';
import type { Block, Script } from '../../../../tests/upstream/script.js';
import { ChatCompletionsDecoder } from './stream.js';

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
const textBlock = fc.record({ type: fc.constant('text' as const), text });
const reasoningBlock = fc.record({ type: fc.constant('reasoning' as const), text });
const call = fc.record({
  type: fc.constant('tool_call' as const),
  id: fc.uuid(),
  name: fc.stringMatching(/^[a-z_]{1,12}$/),
  arguments: fc
    .dictionary(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
    .map((value) => JSON.stringify(value)),
});
const blocks: fc.Arbitrary<Block[]> = fc
  .tuple(
    fc.array(reasoningBlock, { maxLength: 1 }),
    fc.array(textBlock, { maxLength: 1 }),
    fc.uniqueArray(call, { maxLength: 4, selector: ({ id }) => id }),
  )
  .map((kinds): Block[] => kinds.flat())
  .filter((all) => all.length > 0);
const usage = fc
  .record({ input: fc.nat(1000), cacheRead: fc.nat(1000), cacheWrite5m: fc.nat(1000), output: fc.integer({ min: 1, max: 1000 }) })
  .chain((counts) =>
    fc.record({ reasoning: fc.nat(counts.output) }).map(({ reasoning }) => ({ ...counts, input: counts.input + 1, reasoning })),
  );
const script: fc.Arbitrary<Script> = fc.record({
  blocks,
  usage,
  usagePlace: fc.constantFrom('last-chunk' as const, 'finish-chunk' as const, 'every-chunk' as const),
  deltaChars: fc.integer({ min: 1, max: 9 }),
  interleaveToolCalls: fc.boolean(),
});

type Chunk = { choices: { delta?: { role?: string; tool_calls?: Record<string, unknown>[] }; logprobs?: unknown }[] };

/** Ways in which servers write the same stream. */
const dialects: Record<string, (chunk: Chunk) => unknown> = {
  'as OpenAI does': (chunk) => chunk,
  'without roles and with errors that are null': (chunk) => ({
    ...chunk,
    error: null,
    choices: chunk.choices.map((choice) => ({ ...choice, delta: { ...choice.delta, role: undefined } })),
  }),
  'without an index where the id or the last call says it': (chunk) => mapCalls(chunk, ({ index: _index, ...rest }) => rest),
  'with the id repeated and no type': (chunk) => mapCalls(chunk, ({ type: _type, ...rest }) => rest),
};

function mapCalls(chunk: Chunk, change: (call: Record<string, unknown>) => unknown): unknown {
  return {
    ...chunk,
    choices: chunk.choices.map((choice) => ({ ...choice, delta: { ...choice.delta, tool_calls: choice.delta?.tool_calls?.map(change) } })),
  };
}

interface Meaning {
  readonly blocks: Block[];
  readonly stopReason: StopReason | undefined;
  readonly report: unknown;
}

function newDecoder(isNative: boolean): ChatCompletionsDecoder {
  return new ChatCompletionsDecoder({
    target: { upstreamId: 'u', upstreamModel: 'm' },
    requestId: '',
    droppedFields: [],
    isNative,
    stopSequences: [],
    toCallerName: (name) => name,
    newToolCallId: () => 'made',
  });
}

function meaningOf(payloads: readonly string[], isNative: boolean): Meaning {
  const decoder = newDecoder(isNative);
  const events: Event[] = [...payloads.flatMap((payload) => decoder.push(payload)), ...decoder.end()];
  return { blocks: blocksOf(events), stopReason: decoder.outcome?.stopReason, report: decoder.report };
}

/** The blocks of events, which must be numbered without gaps and be open one at a time. */
function blocksOf(events: readonly Event[]): Block[] {
  const found: { -readonly [K in keyof Block]: Block[K] }[] = [];
  let open: number | undefined;
  for (const { event } of events) {
    if (event?.$case === 'blockStart') {
      const { index, block } = event.value;
      expect([open, index]).toEqual([undefined, found.length]);
      open = index;
      if (block?.$case === 'toolCall')
        found.push({ type: 'tool_call', id: block.value.id, name: block.value.name, arguments: '' } as Block);
      else found.push({ type: block!.$case, text: '' } as Block);
    } else if (event?.$case === 'blockDelta') {
      expect(event.value.index).toBe(open);
      const last = found.at(-1)! as unknown as Record<string, string>;
      last[event.value.delta!.$case === 'argumentsJson' ? 'arguments' : 'text'] += event.value.delta!.value;
    } else if (event?.$case === 'blockStop') {
      expect(event.value.index).toBe(open);
      open = undefined;
    }
  }
  expect(open).toBeUndefined();
  return found as Block[];
}

function expected({ blocks: wanted, usage: counts }: Script): Meaning {
  const { input, cacheRead, cacheWrite5m, output, reasoning } = counts as Required<Exclude<Script['usage'], 'none' | undefined>>;
  return {
    blocks: [...wanted!],
    stopReason: wanted!.some(({ type }) => type === 'tool_call') ? StopReason.STOP_REASON_TOOL_CALLS : StopReason.STOP_REASON_END,
    report: {
      input: { inputTokens: input, cacheReadTokens: cacheRead, cacheWrite5mTokens: cacheWrite5m, cacheWrite1hTokens: 0 },
      output: { outputTokens: output, reasoningTokens: reasoning },
    },
  };
}

const deltas = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', '').map((content) => ({ content })) },
  fc.record(
    {
      content: fc.constantFrom('a', 'b', '', null),
      reasoning_content: fc.constantFrom('a', 'b', ''),
      reasoning: fc.constantFrom('a', 'b', ''),
      refusal: fc.constantFrom('a', ''),
      tool_calls: fc.constantFrom(null, [], [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }], [{ index: 0 }]),
      message: fc.constantFrom('a', null),
    },
    { requiredKeys: [] },
  ),
);
const choices = fc.record(
  {
    index: fc.constantFrom(0, 0, 0, 1),
    message: fc.record({ content: fc.constantFrom('a', 'b') }),
    logprobs: fc.constantFrom(null, { content: 'a' }),
    delta: deltas,
    finish_reason: fc.constantFrom(null, null, 'stop'),
  },
  { requiredKeys: ['index', 'delta'] },
);
const chunks = fc.record(
  {
    content: fc.constantFrom('a', 'b'),
    choices: fc.array(choices, { minLength: 0, maxLength: 2 }),
    usage: fc.constantFrom(null, { prompt_tokens: 1, completion_tokens: 1 }, { prompt_tokens: 1, completion_tokens: 2 }),
    error: fc.constantFrom(null, ''),
    system_fingerprint: fc.constantFrom('f', 'g'),
  },
  { requiredKeys: ['choices'] },
);

/** Returns what a decoder makes of each payload, up to the first that it rejects. */
function stepsOf(payloads: readonly string[], isNative: boolean): unknown[] {
  const decoder = newDecoder(isNative);
  const steps: unknown[] = [];
  try {
    for (const payload of payloads) steps.push({ events: decoder.push(payload), report: decoder.report });
  } catch (error) {
    steps.push(error instanceof AppError ? error.reason : error);
  }
  return steps;
}

const request = { model: 'm', stream: true, stream_options: { include_usage: true } };
const payloadsOf = (value: Script) => completionFrames(value, request).map((frame) => frame.slice('data: '.length).trim());

describe('decoding what was encoded', () => {
  it.each(Object.keys(dialects))('keeps texts, names, arguments, order, stop reason and usage %s', (name) => {
    fc.assert(
      fc.property(script, fc.boolean(), (value, isNative) => {
        const isInterleaved = name.startsWith('without an index') ? false : value.interleaveToolCalls === true;
        const written = { ...value, interleaveToolCalls: isInterleaved };
        const payloads = payloadsOf(written).map((payload) =>
          payload === '[DONE]' ? payload : JSON.stringify(dialects[name]!(JSON.parse(payload) as Chunk)),
        );
        expect(meaningOf(payloads, isNative)).toEqual(expected(value));
      }),
      { numRuns: 60 },
    );
  });

  it('does not depend on whether chunks are printed alike', () => {
    const runs = fc.array(fc.tuple(chunks, fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 4 })), { maxLength: 6 });
    fc.assert(
      fc.property(runs, fc.boolean(), (values, isNative) => {
        // Each is followed by others like it, with other texts.
        const alike = values.flatMap(([chunk, texts]) => {
          const json = JSON.stringify(chunk);
          return [json, json, ...texts.map((each) => json.replace(/"content":"[abc]"/, `"content":"${each}"`))];
        });
        const unlike = alike.map((json, index) => `{${' '.repeat(index + 1)}${json.slice(1)}`);
        expect(stepsOf(alike, isNative)).toEqual(stepsOf(unlike, isNative));
      }),
      { numRuns: 500 },
    );
  });
});
