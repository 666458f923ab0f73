// Arbitrary answers of upstreams of the caller's own format, with everything that such an upstream may send alongside the meaning.
import fc from 'fast-check';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import { blockStart, blockStop, delta, finished, foreign, foreignBlock, foreignDelta, started, toolStart, withRest } from './events.js';

const json = fc.jsonValue({ maxDepth: 2, noUnicodeString: false }).map((value) => JSON.parse(JSON.stringify(value ?? 0)) as unknown);
const texts = fc.array(fc.string({ minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 });
const logprob = fc.record({ token: fc.string(), logprob: fc.constant(-0.5), bytes: fc.constant(null), top_logprobs: fc.constant([]) });
const sometimes = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });

/** Returns the event with a rest, if there is one. */
const maybe = (event: Event, rest: object | undefined): Event => (rest === undefined ? event : withRest(event, rest));
const ofChoice = (fields: object): object => ({ choices: [{ index: 0, ...fields }] });

type Piece = (index: number) => Event[];

const probableText = fc
  .array(fc.tuple(fc.string({ minLength: 1, maxLength: 6 }), sometimes(logprob)), { minLength: 1, maxLength: 4 })
  .map((pieces): Piece => (index) => [
    blockStart(index, { $case: 'text', value: {} }),
    ...pieces.map(([text, probability]) =>
      maybe(delta(index, 'text', text), probability && ofChoice({ logprobs: { content: [probability], refusal: null } })),
    ),
    blockStop(index),
  ]);

const call = fc
  .record({ isCustom: fc.boolean(), fragments: texts, extra: sometimes(json) })
  .map(({ isCustom, fragments, extra }): Piece => (index) => {
    const start = blockStart(index, { $case: 'toolCall', value: { id: `call_${index}`, name: 'f', isCustom } });
    const rest = extra === undefined ? undefined : ofChoice({ delta: { tool_calls: [{ index: 40 - index, extra_content: extra }] } });
    return [maybe(start, rest), ...fragments.map((fragment) => delta(index, 'argumentsJson', fragment)), blockStop(index)];
  });

/** The pieces of a choice other than the first. */
const otherChoice = fc
  .record({ parts: texts, calls: fc.boolean(), reason: fc.constantFrom('stop', 'length') })
  .map(({ parts, calls, reason }) => (index: number) => {
    const piece = (fields: object, finish: string | null = null): object => ({
      choices: [{ index, delta: fields, finish_reason: finish }],
    });
    const first = { index: 0, id: `other_${index}`, type: 'function', function: { name: 'g', arguments: '' } };
    const called = [
      piece({ tool_calls: [first] }),
      ...parts.map((part) => piece({ tool_calls: [{ index: 0, function: { arguments: part } }] })),
    ];
    return {
      pieces: [piece({ role: 'assistant', content: '' }), ...(calls ? called : parts.map((part) => piece({ content: part })))].map((one) =>
        foreign(one),
      ),
      end: foreign(piece({}, calls ? 'tool_calls' : reason), true),
    };
  });

/** Events of an answer of a chat-completions upstream. */
export const nativeChatAnswers = fc
  .record({
    blocks: fc.array(fc.oneof(probableText, call), { maxLength: 4 }),
    choices: fc.array(otherChoice, { maxLength: 2 }),
    head: sometimes(fc.record({ system_fingerprint: fc.string({ minLength: 1 }), vendor_object: json }, { requiredKeys: [] })),
    unknown: sometimes(json),
    usage: sometimes(fc.record({ cost: fc.nat(), prompt_tokens: fc.nat(), prompt_tokens_details: fc.record({ image_tokens: fc.nat() }) })),
    stopReason: fc.constantFrom(StopReason.STOP_REASON_END, StopReason.STOP_REASON_MAX_TOKENS),
  })
  .map(({ blocks, choices, head, unknown, usage, stopReason }) => {
    const others = choices.map((choice, at) => choice(at + 1));
    return [
      maybe(started, head),
      ...(unknown === undefined ? [] : [foreign(ofChoice({ delta: { vendor_field: unknown }, vendor_choice: unknown }))]),
      ...blocks.flatMap((piece, index) => [...others.flatMap(({ pieces }) => pieces.splice(0, 1)), ...piece(index)]),
      ...others.flatMap(({ pieces, end }) => [...pieces, end]),
      maybe(finished(stopReason), usage && { usage }),
    ];
  });

const citedText = fc
  .array(fc.oneof(fc.string({ minLength: 1, maxLength: 6 }), fc.record({ cited_text: fc.string() })), { minLength: 1, maxLength: 4 })
  .map((pieces): Piece => (index) => [
    withRest(blockStart(index, { $case: 'text', value: {} }), { citations: [] }),
    ...pieces.map((piece) =>
      typeof piece === 'string'
        ? delta(index, 'text', piece)
        : foreignDelta(index, { type: 'citations_delta', citation: { type: 'char_location', ...piece } }),
    ),
    blockStop(index),
  ]);

const thought = fc
  .record({ parts: fc.array(fc.string({ maxLength: 4 }), { maxLength: 3 }), signature: fc.string(), counts: fc.boolean() })
  .map(({ parts, signature, counts }): Piece => (index) => [
    blockStart(index, { $case: 'reasoning', value: { redactedData: '' } }),
    ...parts.map((part) => maybe(delta(index, 'text', part), counts ? { estimated_tokens: 3 } : undefined)),
    delta(index, 'signature', signature),
    blockStop(index),
  ]);

const own = fc.tuple(json, fc.boolean()).map(([input, isCalled]): Piece => (index) => [
  withRest(
    toolStart(index, `toolu_${index}`, 'f'),
    isCalled ? { caller: { type: 'code_execution_20260120', tool_id: 's' } } : { toolset_name: 't' },
  ),
  delta(index, 'argumentsJson', `{"a":${JSON.stringify(input)}`),
  delta(index, 'argumentsJson', '}'),
  blockStop(index),
]);

const server = json.map((input): Piece => (index) => {
  const fragments = [`{"q":${JSON.stringify(input)}`, '}'].map((fragment) => ({ type: 'input_json_delta', partial_json: fragment }));
  return foreignBlock(index, { type: 'server_tool_use', id: `srvtoolu_${index}`, name: 'tool_search_tool_bm25', input: {} }, ...fragments);
});
const unknownBlock = json.map(
  (value): Piece =>
    (index) =>
      foreignBlock(index, { type: 'vendor_block', value }),
);

/** Events of an answer of a messages upstream. */
export const nativeMessageAnswers = fc
  .record({
    blocks: fc.array(fc.oneof(citedText, thought, own, server, unknownBlock), { maxLength: 5 }),
    head: sometimes(
      fc.record({
        container: fc.record({ id: fc.string() }),
        usage: fc.record({ service_tier: fc.constant('priority'), input_tokens: fc.nat() }),
      }),
    ),
    end: sometimes(
      fc.record({
        delta: fc.record(
          {
            stop_reason: fc.constantFrom('pause_turn', 'vendor_word'),
            stop_details: fc.constantFrom({ type: 'refusal', category: 'cyber', explanation: null }, { type: 'vendor_word', more: 1 }),
          },
          { requiredKeys: [] },
        ),
        usage: fc.record({ server_tool_use: fc.record({ web_search_requests: fc.nat() }), output_tokens: fc.nat() }, { requiredKeys: [] }),
      }),
    ),
    hasEvent: fc.boolean(),
  })
  .map(({ blocks, head, end, hasEvent }) => [
    maybe(started, head),
    ...blocks.flatMap((piece, index) => [...(hasEvent ? [foreign({ type: 'vendor_event', index })] : []), ...piece(index)]),
    maybe(finished(), end),
  ]);

const annotatedText = fc.tuple(texts, sometimes(logprob), json).map(([parts, probability, note]): Piece => (index) => [
  withRest(blockStart(index, { $case: 'text', value: {} }), {
    item: { id: `msg_up${index}`, phase: 'commentary' },
    part: { annotations: [] },
  }),
  ...parts.map((part) => maybe(delta(index, 'text', part), probability && { logprobs: [probability] })),
  foreignDelta(index, { type: 'response.output_text.annotation.added', annotation_index: 0, annotation: { type: 'vendor_note', note } }),
  withRest(blockStop(index), { item: { phase: 'final_answer' }, part: { annotations: [{ type: 'vendor_note', note }] } }),
]);

const summaries = fc.tuple(texts, texts).map(([first, second]): Piece => (index) => [
  withRest(blockStart(index, { $case: 'reasoning', value: { redactedData: '' } }), { item: { id: `rs_up${index}` } }),
  ...first.map((part) => withRest(delta(index, 'text', part), { summary_index: 0 })),
  withRest(delta(index, 'text', '\n\n'), { is_separator: true }),
  ...second.map((part) => withRest(delta(index, 'text', part), { summary_index: 1 })),
  withRest(blockStop(index), { item: { encrypted_content: 'gAAA' } }),
]);

const spacedCall = fc.record({ isCustom: fc.boolean(), fragments: texts }).map(({ isCustom, fragments }): Piece => (index) => [
  withRest(blockStart(index, { $case: 'toolCall', value: { id: `call_${index}`, name: 'f', isCustom } }), {
    item: { id: `fc_up${index}`, namespace: 'n' },
  }),
  ...fragments.map((fragment) => delta(index, 'argumentsJson', fragment)),
  withRest(blockStop(index), { item: { namespace: 'n' } }),
]);

const search = json.map((query): Piece => (index) => [
  blockStart(index, {
    $case: 'foreign',
    value: { json: JSON.stringify({ type: 'web_search_call', id: `ws_${index}`, status: 'in_progress' }) },
  }),
  foreignDelta(index, { type: 'response.web_search_call.searching' }),
  withRest(blockStop(index), {
    item: { type: 'web_search_call', id: `ws_${index}`, status: 'completed', action: { type: 'search', query } },
  }),
]);

/** Events of an answer of a responses upstream. */
export const nativeResponseAnswers = fc
  .record({
    blocks: fc.array(fc.oneof(annotatedText, summaries, spacedCall, search), { maxLength: 5 }),
    head: sometimes(fc.record({ vendor_field: json })),
    usage: sometimes(fc.record({ vendor_units: fc.nat(), input_tokens: fc.nat() })),
    stopReason: fc.constantFrom(StopReason.STOP_REASON_END, StopReason.STOP_REASON_MAX_TOKENS),
  })
  .map(({ blocks, head, usage, stopReason }) => [
    maybe(started, head),
    ...blocks.flatMap((piece, index) => piece(index)),
    maybe(finished(stopReason), usage && { usage }),
  ]);
