// Streams of messages upstreams that differ from the vendor's, or are malformed: the variants of tables 4.2 and 5.5 of the format's
// reference, read by callers of both formats, streamed and whole.
import { describe, expect, it } from '@jest/globals';
import type { Json } from '../upstream/checks/check.js';
import type { Block, Script } from '../upstream/script.js';
import { type ExpectedAnswer, expectAnswers, usage } from './support/expect-answer.js';
import { conformance } from './support/gateway.js';
import { isNative, someOver } from './support/paths.js';
import { tools } from './support/requests.js';
import { broken, each, type Edit, failed, text, textSeen, thought, type Variant, webPages, without, words } from './support/variants.js';

const gateway = conformance();

const signature = 'c2lnbmF0dXJl';
const reasoning: Block = { type: 'reasoning', text: thought, signature };
const weather: Block = { type: 'tool_call', id: 'toolu_1', name: 'get_weather', arguments: '{"city":"Zürich"}' };
const weatherSeen = { id: 'toolu_1', name: 'get_weather', arguments: '{"city":"Zürich"}' };

const thoughtSeen: ExpectedAnswer = { seen: { reasoning: thought, signatures: [signature], text: words, stop: 'end' } };
const callSeen: ExpectedAnswer = { seen: { text: '', calls: [weatherSeen], stop: 'tool_calls' } };

const of = (type: string, change: (event: Json) => Json): Edit => each((event) => (event['type'] === type ? change(event) : event));
const leaveOut =
  (type: string): Edit =>
  (events) =>
    events.filter((event) => event['type'] !== type);
const before =
  (frame: Json | string): Edit =>
  (events) => [events[0]!, ...events.slice(1).flatMap((event) => [frame, event])];
/** Changes the message of message_start. */
const message = (change: (message: Json) => Json): Edit =>
  of('message_start', (event) => ({ ...event, message: change(event['message'] as Json) }));
/** Changes the block of each content_block_start. */
const block = (change: (block: Json) => Json): Edit =>
  of('content_block_start', (event) => ({ ...event, content_block: change(event['content_block'] as Json) }));
/** Swaps the first delta and the start of its block. */
const deltaFirst: Edit = (events) => {
  const start = events.findIndex((event) => event['type'] === 'content_block_start');
  return [...events.slice(0, start), events[start + 1]!, events[start]!, ...events.slice(start + 2)];
};
const inTheMiddle =
  (frame: Json | string): Edit =>
  (events) => [...events.slice(0, 5), frame];

/** The 22 variants of the reference. */
const variants: readonly Variant[] = [
  // The input is known from message_start; only the output must be counted.
  {
    what: 'a message_delta without usage',
    script: { edit: of('message_delta', (event) => without(event, 'usage')) },
    expected: { ...textSeen, end: { kind: 'estimated', reported: { input: usage.input, cacheRead: usage.cacheRead } } },
  },
  { what: 'a message_start without usage', script: { edit: message((value) => without(value, 'usage')) }, expected: textSeen },
  { what: 'a message_start without content', script: { edit: message((value) => without(value, 'content')) }, expected: textSeen },
  {
    what: 'block indexes with gaps',
    script: {
      blocks: [reasoning, text],
      edit: each((event) => ('index' in event ? { ...event, index: (event['index'] as number) * 2 } : event)),
    },
    expected: thoughtSeen,
  },
  { what: 'a delta before its start', script: { edit: deltaFirst }, expected: failed },
  { what: 'a text block that starts without its text', script: { edit: block((value) => without(value, 'text')) }, expected: textSeen },
  {
    what: 'a thinking block that starts without its fields',
    script: { blocks: [reasoning, text], edit: block((value) => without(value, 'thinking', 'signature')) },
    expected: thoughtSeen,
  },
  { what: 'two message_start', script: { edit: (events) => [events[0]!, ...events] }, expected: textSeen },
  {
    what: 'a tool_use that starts with input: ""',
    script: { blocks: [weather], edit: block((value) => ({ ...value, input: '' })) },
    expected: callSeen,
  },
  {
    what: 'a tool input that is unfinished JSON',
    script: {
      blocks: [weather],
      edit: of('content_block_delta', (event) =>
        JSON.stringify(event).includes('rich') ? { ...event, delta: { type: 'input_json_delta', partial_json: '"Z' } } : event,
      ),
      deltaChars: 9,
    },
    // A whole answer of the messages format needs an object here, which contains what the model wrote, unchanged.
    expected: ({ client, streaming }) => ({
      seen: {
        calls: [
          {
            ...weatherSeen,
            arguments: client === 'messages' && !streaming ? expect.stringContaining('_raw') : expect.stringMatching(/^\{"city":/),
          },
        ],
        stop: 'tool_calls',
      },
    }),
  },
  { what: 'no content_block_stop', script: { blocks: [reasoning, text], edit: leaveOut('content_block_stop') }, expected: thoughtSeen },
  { what: 'an event with an unknown name', script: { edit: before({ type: 'hologram', shape: 'cube' }) }, expected: textSeen },
  {
    what: 'a delta of an unknown type',
    script: {
      edit: (events) => [
        ...events.slice(0, 3),
        { type: 'content_block_delta', index: 0, delta: { type: 'hologram_delta', shape: 'cube' } },
        ...events.slice(3),
      ],
    },
    expected: textSeen,
  },
  {
    what: 'a block of an unknown type',
    script: {
      blocks: [{ type: 'vendor', start: { type: 'hologram', shape: '' }, deltas: [{ type: 'hologram_delta', shape: 'cube' }] }, text],
    },
    expected: textSeen,
  },
  { what: 'a [DONE] at the end', script: { edit: (events) => [...events, 'data: [DONE]\n\n'] }, expected: textSeen },
  { what: 'CRLF line ends and comments', script: { style: { lineEnd: '\r\n', comments: true } }, expected: textSeen },
  { what: 'frames without the name of their event', script: { style: { dataOnly: true } }, expected: textSeen },
  {
    what: 'an error frame in the middle',
    script: { edit: inTheMiddle({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }) },
    expected: broken,
  },
  {
    what: 'an error frame first',
    script: { edit: () => [{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }] },
    expected: failed,
  },
  { what: 'a clean end in the middle of the text', script: { fault: { kind: 'cut', afterBytes: 1250 } }, expected: broken },
  { what: 'an end after message_delta, without message_stop', script: { edit: leaveOut('message_stop') }, expected: textSeen },
  { what: 'a reset of the connection', script: { fault: { kind: 'reset', afterBytes: 1250 } }, expected: broken },
];

/** Other variants that have been observed. */
const more: readonly Variant[] = [
  // Some resellers omit message_delta; message_stop shows that the answer is complete.
  {
    what: 'no message_delta',
    script: { edit: leaveOut('message_delta') },
    expected: { ...textSeen, end: { kind: 'estimated', reported: { input: usage.input, cacheRead: usage.cacheRead } } },
  },
  {
    what: 'neither message_delta nor message_stop',
    script: { edit: (events) => leaveOut('message_stop')(leaveOut('message_delta')(events) as Json[]) },
    expected: broken,
  },
  { what: 'pings everywhere', script: { edit: before({ type: 'ping' }) }, expected: textSeen },
  {
    what: 'usage that is zero at the end',
    script: { usagePlace: 'zero-at-end' },
    expected: { ...textSeen, end: { kind: 'complete', usage: { ...usage, reasoning: 0 } } },
  },
  {
    what: 'usage only at the end, and zeros at the start',
    script: { edit: message((value) => ({ ...value, usage: { input_tokens: 0, output_tokens: 0 } })) },
    expected: textSeen,
  },
  {
    what: 'null for what message_delta does not repeat',
    script: {
      edit: of('message_delta', (event) => ({
        ...event,
        usage: {
          ...(event['usage'] as Json),
          input_tokens: null,
          cache_read_input_tokens: null,
          cache_creation_input_tokens: null,
          cache_creation: null,
        },
      })),
    },
    expected: textSeen,
  },
  {
    what: 'usage in more than one message_delta',
    script: {
      edit: (events) =>
        events.flatMap((event) =>
          event['type'] === 'message_delta'
            ? [{ type: 'message_delta', delta: { stop_reason: null, stop_sequence: null }, usage: { output_tokens: 3 } }, event]
            : [event],
        ),
    },
    expected: textSeen,
  },
  {
    what: 'a tool input in content_block_start',
    script: {
      blocks: [weather],
      edit: (events) => block((value) => ({ ...value, input: { city: 'Zürich' } }))(leaveOut('content_block_delta')(events) as Json[]),
    },
    expected: callSeen,
  },
  {
    what: 'a tool without any input',
    script: { blocks: [{ ...weather, arguments: '' }] },
    expected: { seen: { calls: [{ ...weatherSeen, arguments: '{}' }], stop: 'tool_calls' } },
  },
  {
    what: 'text in content_block_start',
    script: { edit: (events) => block((value) => ({ ...value, text: words }))(leaveOut('content_block_delta')(events) as Json[]) },
    expected: textSeen,
  },
  { what: 'an empty text block with a tool call', script: { blocks: [{ type: 'text', text: '' }, weather] }, expected: callSeen },
  { what: 'the reason end_turn after tool calls', script: { blocks: [weather], stopReason: 'end_turn' }, expected: callSeen },
  {
    what: 'an unknown stop reason',
    script: { stopReason: 'contemplated' },
    expected: (path) => (isNative(path) ? { seen: { text: words, stop: undefined } } : textSeen),
  },
  { what: 'error: null in its events', script: { edit: each((event) => ({ ...event, error: null })) }, expected: textSeen },
  { what: 'CR line ends', script: { style: { lineEnd: '\r' } }, expected: textSeen },
  { what: 'packets of one byte', script: { style: { packetBytes: 1 } }, expected: textSeen },
  { what: 'packets that split characters', script: { style: { packetBytes: 7 }, deltaChars: 2 }, expected: textSeen },
  { what: 'no blank line at the end', script: { style: { unterminated: true } }, expected: textSeen },
  { what: 'an event that is not JSON', script: { fault: { kind: 'malformed-json', afterFrames: 5 } }, expected: broken },
  { what: 'an end before any output', script: { fault: { kind: 'cut', afterBytes: 0 } }, expected: failed },
  ...webPages,
  { what: 'compressed frames that were not requested', script: { fault: { kind: 'gzip' } }, expected: textSeen },
  { what: 'a whole answer in place of a stream', script: { fault: { kind: 'whole-answer' } }, expected: textSeen },
];

const scriptOf = ({ script }: Variant): Script => ({ blocks: [text], ...script });

describe('a messages upstream that sends', () => {
  it.each(variants.map((variant, index) => ({ ...variant, number: index + 1 })))('$number of 22: $what', async (variant) => {
    await expectAnswers(gateway, someOver('messages', variant.number), scriptOf(variant), variant.expected, tools);
  });

  it.each(more.map((variant, number) => ({ ...variant, number })))('also: $what', async (variant) => {
    await expectAnswers(gateway, someOver('messages', variant.number), scriptOf(variant), variant.expected, tools);
  });
});
