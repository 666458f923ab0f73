// Events that repeat with another text are not read again. What they mean must not depend on that.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AppError } from '#client/errors/app-error.js';
import { MessagesDecoder } from '../messages/stream.js';
import { ResponsesDecoder } from '../responses/stream.js';
import type { StreamDecoder } from './stream-decoder.js';

const text = fc.constantFrom('a', 'b', '');
const index = fc.constantFrom(0, 0, 0, 1);
const optional = <T extends Record<string, fc.Arbitrary<unknown>>>(fields: T) => fc.record(fields, { requiredKeys: ['type'] });

const messagesEvent = fc.oneof(
  { weight: 4, arbitrary: text.map((each) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: each } })) },
  optional({
    type: fc.constant('content_block_delta'),
    index,
    more: fc.constantFrom(null, 'a'),
    delta: optional({
      type: fc.constantFrom('text_delta', 'thinking_delta', 'input_json_delta', 'signature_delta', 'other'),
      thinking: text,
      text,
      partial_json: text,
      more: fc.constantFrom(1, null),
    }),
  }),
  fc.record({
    type: fc.constant('content_block_start'),
    index,
    content_block: fc.oneof(
      fc.constantFrom('text', 'thinking', 'other').map((type) => ({ type })),
      fc.constant({ type: 'tool_use', id: 'i', name: 'n' }),
    ),
  }),
  fc.record({ type: fc.constantFrom('content_block_stop', 'ping'), index }),
  fc.record({
    type: fc.constant('message_delta'),
    delta: fc.constant({ stop_reason: 'end_turn' }),
    usage: fc.record({ output_tokens: fc.nat(3) }),
  }),
);
const messagesStart = { type: 'message_start', message: { id: 'm', model: 'x', usage: { input_tokens: 1, output_tokens: 1 } } };
const textStart = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };

const place = { item_id: fc.constantFrom('m', 'm', 'n'), output_index: index, content_index: index };
const responsesEvent = fc.oneof(
  {
    weight: 4,
    arbitrary: text.map((delta) => ({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta })),
  },
  optional({
    type: fc.constantFrom(
      'response.output_text.delta',
      'response.refusal.delta',
      'response.reasoning_text.delta',
      'response.function_call_arguments.delta',
      'response.output_text.done',
      'response.other.delta',
    ),
    ...place,
    text,
    delta: text,
    logprobs: fc.constantFrom([], [1]),
  }),
  fc.record({
    type: fc.constantFrom('response.content_part.added', 'response.content_part.done'),
    ...place,
    part: fc.constant({ type: 'output_text', text: 'ab' }),
  }),
  fc.record({
    type: fc.constantFrom('response.output_item.added', 'response.output_item.done'),
    output_index: index,
    item: fc.record({ id: place.item_id, type: fc.constantFrom('message', 'reasoning') }),
  }),
);
const responsesStart = { type: 'response.output_item.added', output_index: 0, item: { id: 'm', type: 'message' } };

const head = { target: { upstreamId: 'u', upstreamModel: 'm' }, requestId: '', droppedFields: [] };
const decoders = {
  messages: (isNative: boolean) => new MessagesDecoder({ ...head, isNative }),
  responses: (isNative: boolean) => new ResponsesDecoder({ ...head, isNative, toCallerName: (name) => name, newId: (prefix) => prefix }),
};

/** Returns what a decoder makes of each payload, up to the first that it rejects. */
function stepsOf(decoder: StreamDecoder, payloads: readonly string[]): unknown[] {
  const steps: unknown[] = [];
  try {
    for (const payload of payloads) steps.push({ events: structuredClone(decoder.push(payload)), report: decoder.report });
  } catch (error) {
    steps.push(error instanceof AppError ? error.reason : error);
  }
  return steps;
}

describe('events that repeat with another text', () => {
  it.each([
    ['messages' as const, [messagesStart, textStart], messagesEvent],
    ['responses' as const, [responsesStart], responsesEvent],
  ])('mean the same as if they were printed in different ways in %s format', (format, start, event) => {
    const runs = fc.array(fc.tuple(event, fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 4 })), { maxLength: 6 });
    fc.assert(
      fc.property(runs, fc.boolean(), (values, isNative) => {
        const alike = [...start.map((each) => [each, []] as const), ...values].flatMap(([each, texts], at) => {
          const json = JSON.stringify(each);
          return at < start.length
            ? [json]
            : [json, json, ...texts.map((other) => json.replace(/"(text|delta)":"[ab]"/, `"$1":"${other}"`))];
        });
        const unlike = alike.map((json, at) => `{${' '.repeat(at + 1)}${json.slice(1)}`);
        const newDecoder = decoders[format];
        expect(stepsOf(newDecoder(isNative), alike)).toEqual(stepsOf(newDecoder(isNative), unlike));
      }),
      { numRuns: 500 },
    );
  });
});
