// Streams of chat-completions upstreams that differ from the vendor's, or are malformed: the variants of tables 2.2, 4.2 and 5.5 of
// the format's reference, read by callers of both formats, streamed and whole.
import { describe, it } from '@jest/globals';
import type { Json } from '../upstream/checks/check.js';
import type { Script } from '../upstream/script.js';
import { expectAnswers } from './support/expect-answer.js';
import { conformance } from './support/gateway.js';
import { isNative, someOver } from './support/paths.js';
import { tools } from './support/requests.js';
import {
  broken,
  callSeen,
  callsSeen,
  each,
  type Edit,
  text,
  textSeen,
  time,
  type Variant,
  weather,
  weatherSeen,
  webPages,
  without,
  words,
} from './support/variants.js';

const gateway = conformance();

/** Changes the only choice of a chunk. */
const choice =
  (change: (choice: Json) => Json) =>
  (chunk: Json): Json =>
    (chunk['choices'] as Json[]).length === 0 ? chunk : { ...chunk, choices: (chunk['choices'] as Json[]).map(change) };
const before =
  (frame: string): Edit =>
  (chunks) =>
    chunks.flatMap((chunk) => [frame, chunk]);
/** Changes the deltas. */
const deltas = (change: (delta: Json) => unknown): Edit => each(choice((entry) => ({ ...entry, delta: change(entry['delta'] as Json) })));
/** Changes the entries of `tool_calls`; the function also gets the number of earlier entries. */
const fragments =
  (change: (fragment: Json, index: number) => Json): Edit =>
  (chunks) => {
    let seen = 0;
    return deltas((delta) =>
      Array.isArray(delta['tool_calls'])
        ? { ...delta, tool_calls: delta['tool_calls'].map((entry) => change(entry as Json, seen++)) }
        : delta,
    )(chunks);
  };
const inTheMiddle =
  (frame: string): Edit =>
  (chunks) => [...chunks.slice(0, 4), frame];
const fnOf = (fragment: Json): Json => fragment['function'] as Json;
/** Sends each tool call in one fragment. */
const wholeCalls =
  (fn: (fn: Json) => Json): Edit =>
  (chunks) => {
    const open = chunks.find((chunk) => JSON.stringify(chunk).includes('call_1'))!;
    return [
      chunks[0]!,
      choice((entry) => ({
        ...entry,
        delta: { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: fn({ name: 'get_weather' }) }] },
      }))(open),
      ...chunks.slice(-2),
    ];
  };

interface EditedVariant extends Variant {
  readonly edit?: Edit;
}

/** The 22 variants of the reference. */
const variants: readonly EditedVariant[] = [
  { what: 'comment lines between the frames', edit: before(': keep-alive\n\n'), expected: textSeen },
  { what: 'data lines with nothing after them', edit: before('data:\n\n'), expected: textSeen },
  { what: 'an event line without data', edit: before('event: ping\n\n'), expected: textSeen },
  { what: 'a frame with JSON that is not a chunk', edit: before('data: {"type":"ping"}\n\n'), expected: textSeen },
  {
    what: 'choices: null on the usage chunk',
    edit: each((chunk) => ((chunk['choices'] as Json[]).length === 0 ? { ...chunk, choices: null } : chunk)),
    expected: textSeen,
  },
  { what: 'a first chunk without a role', edit: deltas((delta) => without(delta, 'role')), expected: textSeen },
  {
    what: 'tool fragments without an index',
    script: { blocks: [weather, time] },
    edit: fragments((fragment) => without(fragment, 'index')),
    expected: callsSeen,
  },
  {
    what: 'tool fragments without a type',
    script: { blocks: [weather, time] },
    edit: fragments((fragment) => without(fragment, 'type')),
    expected: callsSeen,
  },
  {
    what: 'the id and name of a tool call repeated on later fragments',
    script: { blocks: [weather] },
    edit: fragments((fragment) => ({ ...fragment, id: 'call_1', type: 'function', function: { name: 'get_weather', ...fnOf(fragment) } })),
    expected: callSeen,
  },
  {
    what: 'arguments: null on the whole call',
    script: { blocks: [weather] },
    edit: wholeCalls((fn) => ({ ...fn, arguments: null })),
    expected: { seen: { calls: [{ ...weatherSeen, arguments: '{}' }], stop: 'tool_calls' } },
  },
  {
    what: 'no arguments on the whole call',
    script: { blocks: [weather] },
    edit: wholeCalls((fn) => fn),
    expected: { seen: { calls: [{ ...weatherSeen, arguments: '{}' }], stop: 'tool_calls' } },
  },
  {
    what: 'delta: null',
    edit: each((chunk, index) =>
      index === 0 ? chunk : choice((entry) => (entry['finish_reason'] === null ? entry : { ...entry, delta: null }))(chunk),
    ),
    expected: textSeen,
  },
  // Callers of the vendor's format are shown its word.
  {
    what: 'a finish reason that nobody knows',
    script: { stopReason: 'contemplated' },
    expected: (path) => (isNative(path) ? { seen: { text: words, stop: undefined } } : textSeen),
  },
  { what: 'error: null inside the chunks', edit: each((chunk) => ({ ...chunk, error: null })), expected: textSeen },
  { what: 'no [DONE] although it has finished', script: { style: { withoutDone: true } }, expected: textSeen },
  {
    what: 'an error frame in the middle',
    script: { fault: { kind: 'error-frame', afterFrames: 4, error: { message: 'Broken', type: 'server_error', param: null, code: null } } },
    expected: broken,
  },
  {
    what: 'a named error frame in the middle',
    edit: inTheMiddle('event: error\ndata: {"error":{"message":"Broken","type":"server_error"}}\n\n'),
    expected: broken,
  },
  { what: 'an error frame that is plain text', edit: inTheMiddle('data: {"error":"Broken"}\n\n'), expected: broken },
  { what: 'a clean end in the middle of the text', script: { fault: { kind: 'cut', afterBytes: 1100 } }, expected: broken },
  { what: 'a reset of the connection', script: { fault: { kind: 'reset', afterBytes: 1100 } }, expected: broken },
  { what: 'CRLF line ends and comments', script: { style: { lineEnd: '\r\n', comments: true } }, expected: textSeen },
  { what: 'a usage object with the finish reason, and [DONE] at once', script: { usagePlace: 'finish-chunk' }, expected: textSeen },
];

/** Other malformed streams that were seen in production. */
const more: readonly EditedVariant[] = [
  { what: 'a chunk without choices first', edit: (chunks) => [{ choices: [], prompt_filter_results: [] }, ...chunks], expected: textSeen },
  { what: 'usage on every chunk', script: { usagePlace: 'every-chunk' }, expected: textSeen },
  { what: 'usage: null after the usage', edit: (chunks) => [...chunks, { ...chunks.at(-1)!, usage: null }], expected: textSeen },
  {
    what: 'usage in a chunk with a non-empty choice',
    edit: (chunks) => [...chunks.slice(0, -1), { ...chunks.at(-1)!, choices: [{ index: 0, delta: { content: '' }, finish_reason: null }] }],
    expected: textSeen,
  },
  { what: 'empty lists of tool calls with the text', edit: deltas((delta) => ({ ...delta, tool_calls: [] })), expected: textSeen },
  { what: 'tool_calls: null with the text', edit: deltas((delta) => ({ ...delta, tool_calls: null })), expected: textSeen },
  { what: 'the role on every chunk', edit: deltas((delta) => ({ role: 'assistant', ...delta })), expected: textSeen },
  {
    what: 'parallel calls whose fragments interleave',
    script: { blocks: [weather, time], interleaveToolCalls: true },
    expected: callsSeen,
  },
  {
    what: 'parallel calls that share the index 0',
    script: { blocks: [weather, time] },
    edit: fragments((fragment) => ({ ...fragment, index: 0 })),
    expected: callsSeen,
  },
  {
    what: 'tool indexes with gaps',
    script: { blocks: [weather, time] },
    edit: fragments((fragment) => ({ ...fragment, index: (fragment['index'] as number) * 3 + 1 })),
    expected: callsSeen,
  },
  {
    what: 'an id that arrives late',
    script: { blocks: [weather] },
    edit: fragments((fragment, at) => (at === 0 ? without(fragment, 'id') : at === 1 ? { ...fragment, id: 'call_1' } : fragment)),
    expected: callSeen,
  },
  {
    what: 'a name that arrives late, and is null until then',
    script: { blocks: [weather] },
    edit: fragments((fragment, at) =>
      at === 0
        ? { ...fragment, function: { name: null, arguments: '' } }
        : at === 1
          ? { ...fragment, function: { name: 'get_weather', ...fnOf(fragment) } }
          : fragment,
    ),
    expected: callSeen,
  },
  {
    what: 'id: null and type: null on later fragments',
    script: { blocks: [weather] },
    edit: fragments((fragment) => ({ id: null, type: null, ...fragment })),
    expected: callSeen,
  },
  {
    what: 'arguments that are an object',
    script: { blocks: [weather] },
    edit: wholeCalls((fn) => ({ ...fn, arguments: { city: 'Zürich' } })),
    expected: callSeen,
  },
  { what: 'the reason stop after tool calls', script: { blocks: [weather], stopReason: 'stop' }, expected: callSeen },
  { what: 'no space after data:', edit: each((chunk) => `data:${JSON.stringify(chunk)}\n\n`), expected: textSeen },
  {
    what: 'a chunk over several data lines',
    edit: each(
      (chunk) =>
        `${JSON.stringify(chunk, null, 1)
          .split('\n')
          .map((line) => `data: ${line}`)
          .join('\n')}\n\n`,
    ),
    expected: textSeen,
  },
  { what: 'CR line ends', script: { style: { lineEnd: '\r' } }, expected: textSeen },
  { what: 'packets of one byte', script: { style: { packetBytes: 1 } }, expected: textSeen },
  { what: 'packets that split characters', script: { style: { packetBytes: 7 }, deltaChars: 2 }, expected: textSeen },
  { what: 'no blank line at the end', script: { style: { unterminated: true } }, expected: textSeen },
  { what: 'a chunk that is not JSON', script: { fault: { kind: 'malformed-json', afterFrames: 4 } }, expected: broken },
  { what: '[DONE] before any output', edit: () => [], expected: { end: { kind: 'failed' } } },
  { what: 'an end before any output', script: { fault: { kind: 'cut', afterBytes: 0 } }, expected: { end: { kind: 'failed' } } },
  {
    what: 'an error first',
    edit: () => ['data: {"error":{"message":"Overloaded","type":"server_error","code":"overloaded"}}\n\n'],
    expected: { end: { kind: 'failed' } },
  },
  ...webPages,
  { what: 'compressed frames that were not requested', script: { fault: { kind: 'gzip' } }, expected: textSeen },
  { what: 'a whole answer in place of a stream', script: { fault: { kind: 'whole-answer' } }, expected: textSeen },
  { what: 'no usage', script: { usage: 'none' }, expected: { end: { kind: 'estimated' }, ...textSeen } },
];

const scriptOf = ({ edit, script }: EditedVariant): Script => ({ blocks: [text], ...script, ...(edit === undefined ? {} : { edit }) });

describe('a chat-completions upstream that sends', () => {
  it.each(variants.map((variant, index) => ({ ...variant, number: index + 1 })))('$number of 22: $what', async (variant) => {
    await expectAnswers(gateway, someOver('chat-completions', variant.number), scriptOf(variant), variant.expected, tools);
  });

  it.each(more.map((variant, number) => ({ ...variant, number })))('also: $what', async (variant) => {
    await expectAnswers(gateway, someOver('chat-completions', variant.number), scriptOf(variant), variant.expected, tools);
  });
});
