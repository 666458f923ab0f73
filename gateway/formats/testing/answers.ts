// Arbitrary answers, with parallel tool calls interleaved as some upstreams send them.
import fc from 'fast-check';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import { blockStart, blockStop, delta, finished, reasoningBlock, redactedBlock, started, textBlock, toolStart } from './events.js';

const words = fc.array(fc.string({ maxLength: 8 }), { maxLength: 4 });

type Piece = (index: number) => Event[];

const text = words.map(
  (parts): Piece =>
    (index) =>
      textBlock(index, ...parts),
);
const reasoning = fc.record({ shown: fc.string(), signature: fc.string() }).map(
  ({ shown, signature }): Piece =>
    (index) =>
      reasoningBlock(index, shown, signature),
);
const redacted = fc.string({ minLength: 1 }).map(
  (data): Piece =>
    (index) =>
      redactedBlock(index, data),
);
const refusal = words.map((parts): Piece => (index) => [
  blockStart(index, { $case: 'refusal', value: {} }),
  ...parts.map((part) => delta(index, 'text', part)),
  blockStop(index),
]);

/** The JSON of some arguments, cut into fragments. */
const fragments = fc.tuple(fc.dictionary(fc.string(), fc.string(), { maxKeys: 3 }), fc.nat(20)).map(([value, cut]) => {
  const json = JSON.stringify(value);
  return [json.slice(0, cut), json.slice(cut)];
});

/** Up to three calls whose events are interleaved arbitrarily, in order within each call. */
const parallelCalls = fc
  .array(fragments, { minLength: 1, maxLength: 3 })
  .chain((calls) => fc.tuple(fc.constant(calls), fc.array(fc.nat(calls.length - 1), { maxLength: 20 })));

function mixed([calls, order]: [string[][], number[]], first: number): Event[] {
  const queues = calls.map((parts, at) => [...parts.map((part) => delta(first + at, 'argumentsJson', part)), blockStop(first + at)]);
  const picked = [...order, ...queues.keys()].flatMap((at) => queues[at]!.splice(0, 1));
  const starts = calls.map((_parts, at) => toolStart(first + at, `call_${first + at}`, 'f'));
  return [...starts, ...picked, ...queues.flat()];
}

/** All events of an answer. */
export const answers = fc
  .tuple(
    fc.array(fc.oneof(text, reasoning, redacted, refusal), { maxLength: 4 }),
    fc.option(parallelCalls, { nil: undefined }),
    fc.constantFrom(
      StopReason.STOP_REASON_END,
      StopReason.STOP_REASON_MAX_TOKENS,
      StopReason.STOP_REASON_TOOL_CALLS,
      StopReason.STOP_REASON_REFUSAL,
    ),
  )
  .map(([pieces, calls, stopReason]) => [
    started,
    ...pieces.flatMap((piece, index) => piece(index)),
    ...(calls === undefined ? [] : mixed(calls, pieces.length)),
    finished(stopReason),
  ]);
