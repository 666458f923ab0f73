// Streams of responses upstreams that differ from the vendor's, or are malformed, read by callers of all formats, streamed and whole.
import { describe, expect, it } from '@jest/globals';
import type { Json } from '../upstream/checks/check.js';
import type { Block, Script } from '../upstream/script.js';
import { type ExpectedAnswer, expectAnswers } from './support/expect-answer.js';
import { conformance } from './support/gateway.js';
import { isNative, someOver } from './support/paths.js';
import { tools } from './support/requests.js';
import {
  broken,
  callSeen,
  callsSeen,
  each,
  type Edit,
  failed,
  text,
  textSeen,
  thought,
  time,
  type Variant,
  weather,
  weatherSeen,
  webPages,
  without,
  words,
} from './support/variants.js';

const gateway = conformance();

const reasoning: Block = { type: 'reasoning', text: thought };

const thoughtSeen: ExpectedAnswer = { seen: { reasoning: thought, text: words, stop: 'end' } };
const estimated: ExpectedAnswer = { ...textSeen, end: { kind: 'estimated' } };

const leaveOut =
  (...types: string[]): Edit =>
  (events) =>
    events.filter((event) => !types.some((type) => new RegExp(`^response\\.${type}$`).test(String(event['type']))));
/** Changes the response at the end. */
const end = (change: (response: Json) => Json): Edit =>
  each((event) => (event['type'] === 'response.completed' ? { ...event, response: change(event['response'] as Json) } : event));
/** Changes the item of each event that has one. */
const item = (change: (item: Json, type: string) => Json): Edit =>
  each((event) => ('item' in event ? { ...event, item: change(event['item'] as Json, String(event['type'])) } : event));
const inTheMiddle =
  (frame: Json | string): Edit =>
  (events) => [...events.slice(0, 6), frame];
const failure = (code: string): Json => ({
  type: 'response.failed',
  response: { id: 'resp_stub', object: 'response', status: 'failed', output: [], error: { code, message: 'No.' } },
});

/** What servers of the format leave out, repeat or order differently. */
const variants: readonly Variant[] = [
  { what: 'no response.created', script: { edit: leaveOut('created', 'in_progress') }, expected: textSeen },
  { what: 'no output_item.added', script: { blocks: [reasoning, text], edit: leaveOut('output_item\\.added') }, expected: thoughtSeen },
  {
    what: 'no output_item.done',
    script: { blocks: [reasoning, text, weather], edit: leaveOut('output_item\\.done') },
    expected: callAfterAll(),
  },
  { what: 'no content_part events', script: { edit: leaveOut('content_part\\.(added|done)') }, expected: textSeen },
  {
    what: 'no done events of texts',
    script: { blocks: [reasoning, text], edit: leaveOut('.*_text\\.done', '.*_part\\.done') },
    expected: thoughtSeen,
  },
  { what: 'no deltas', script: { blocks: [reasoning, text, weather], edit: leaveOut('.*\\.delta') }, expected: callAfterAll() },
  { what: 'deltas alone', script: { edit: leaveOut('(in_progress|output_item|content_part|output_text\\.done).*') }, expected: textSeen },
  {
    what: 'only response.completed',
    script: { blocks: [reasoning, text, weather], edit: (events) => events.slice(-1) },
    expected: callAfterAll(),
  },
  { what: 'a delta that is lost', script: { edit: (events) => [...events.slice(0, 7), ...events.slice(8)] }, expected: lostDelta() },
  {
    what: 'an item that is announced twice',
    script: { edit: (events) => [...events.slice(0, 3), events[2]!, ...events.slice(3)] },
    expected: textSeen,
  },
  { what: 'events without sequence_number', script: { edit: each((event) => without(event, 'sequence_number')) }, expected: textSeen },
  {
    what: 'events without output_index',
    script: { blocks: [reasoning, text], edit: each((event) => without(event, 'output_index')) },
    expected: thoughtSeen,
  },
  {
    what: 'events without item_id',
    script: { blocks: [weather, time], edit: each((event) => without(event, 'item_id')) },
    expected: callsSeen,
  },
  {
    what: 'another item id in every event',
    script: { blocks: [weather, time], edit: each((event, index) => ('item_id' in event ? { ...event, item_id: `x_${index}` } : event)) },
    expected: callsSeen,
  },
  {
    what: 'output_index 0 in every event',
    script: { blocks: [weather, time], edit: each((event) => ('output_index' in event ? { ...event, output_index: 0 } : event)) },
    expected: callsSeen,
  },
  { what: 'items without ids', script: { blocks: [reasoning, text], edit: item((value) => without(value, 'id')) }, expected: thoughtSeen },
  {
    what: 'parallel calls whose fragments are interleaved',
    script: { blocks: [weather, time], interleaveToolCalls: true },
    expected: callsSeen,
  },
  {
    what: 'a call whose name comes at its end',
    script: { blocks: [weather], edit: item((value, type) => (type.endsWith('added') ? { ...value, name: '' } : value)) },
    expected: callSeen,
  },
  {
    what: 'arguments as an object',
    script: {
      blocks: [weather],
      edit: (events) =>
        item((value, type) => (type.endsWith('done') ? { ...value, arguments: { city: 'Zürich' } } : value))(
          leaveOut('function_call_arguments.*')(events) as Json[],
        ),
    },
    expected: callSeen,
  },
  {
    what: 'a call without arguments',
    script: { blocks: [{ ...weather, arguments: '' }] },
    expected: { seen: { calls: [{ ...weatherSeen, arguments: '{}' }] } },
  },
  {
    what: 'calls only in the finished response',
    script: { blocks: [text, weather], edit: (events) => events.filter(({ output_index: index }) => index !== 1) },
    expected: { seen: { text: words, calls: [weatherSeen], stop: 'tool_calls' } },
  },
  {
    what: 'an unknown event and an unknown item',
    script: {
      blocks: [{ type: 'vendor', item: { type: 'hologram', id: 'hg_1' } }, text],
      edit: (events) => [events[0]!, { type: 'response.hologram' }, ...events.slice(1)],
    },
    expected: textSeen,
  },
  { what: 'keepalive events', script: { edit: (events) => events.flatMap((event) => [{ type: 'keepalive' }, event]) }, expected: textSeen },
  { what: 'error: null in its events', script: { edit: each((event) => ({ ...event, error: null })) }, expected: textSeen },
  { what: 'a [DONE] at the end', script: { edit: (events) => [...events, 'data: [DONE]\n\n'] }, expected: textSeen },
  {
    what: 'a reason for being incomplete that other formats do not have',
    script: { stopReason: 'max_messages' },
    expected: (path) => (isNative(path) ? { seen: { text: words, stop: undefined } } : textSeen),
  },
];

/** How the bytes travel. */
const styles: readonly Variant[] = [
  { what: 'CRLF line ends and comments', script: { style: { lineEnd: '\r\n', comments: true } }, expected: textSeen },
  { what: 'CR line ends', script: { style: { lineEnd: '\r' } }, expected: textSeen },
  { what: 'frames without the name of their event', script: { style: { dataOnly: true } }, expected: textSeen },
  { what: 'packets of one byte', script: { style: { packetBytes: 1 } }, expected: textSeen },
  { what: 'packets that split characters', script: { style: { packetBytes: 7 }, deltaChars: 2 }, expected: textSeen },
  { what: 'no blank line at the end', script: { style: { unterminated: true } }, expected: textSeen },
  { what: 'compressed frames that were not requested', script: { fault: { kind: 'gzip' } }, expected: textSeen },
  { what: 'a whole answer in place of a stream', script: { fault: { kind: 'whole-answer' } }, expected: textSeen },
];

/** Usage that is missing or cannot be right. */
const usages: readonly Variant[] = [
  { what: 'no usage', script: { edit: end((response) => without(response, 'usage')) }, expected: estimated },
  { what: 'usage: null', script: { edit: end((response) => ({ ...response, usage: null })) }, expected: estimated },
  { what: 'usage of zeros', script: { rawUsage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 } }, expected: estimated },
  { what: 'usage in text', script: { rawUsage: { input_tokens: '21', output_tokens: '13' } }, expected: estimated },
  {
    what: 'more cached than read',
    script: { rawUsage: { input_tokens: 5, input_tokens_details: { cached_tokens: 9 }, output_tokens: 3 } },
    expected: estimated,
  },
  { what: 'more output than its cap', script: { rawUsage: { input_tokens: 21, output_tokens: 2000 } }, expected: estimated },
];

/** Failures. */
const failures: readonly Variant[] = [
  {
    what: 'an error event in the middle',
    script: { edit: inTheMiddle({ type: 'error', code: 'server_error', message: 'No.', param: null }) },
    expected: broken,
  },
  {
    what: 'an error event with its fields inside',
    script: { edit: inTheMiddle({ type: 'error', error: { type: 'server_error', message: 'No.' } }) },
    expected: broken,
  },
  { what: 'a failed response in the middle', script: { edit: inTheMiddle(failure('server_error')) }, expected: broken },
  {
    what: 'a failed response right after it was created',
    script: { edit: (events) => [events[0]!, failure('rate_limit_exceeded')] },
    expected: failed,
  },
  {
    what: 'an error event first',
    script: { edit: () => [{ type: 'error', code: 'server_error', message: 'No.', param: null }] },
    expected: failed,
  },
  { what: 'an event that is not JSON', script: { fault: { kind: 'malformed-json', afterFrames: 5 } }, expected: broken },
  {
    what: 'a text for a call',
    script: { blocks: [weather], edit: inTheMiddle({ type: 'response.output_text.delta', output_index: 0, delta: 'Hi' }) },
    expected: broken,
  },
  { what: 'a clean end in the middle of the text', script: { fault: { kind: 'cut', afterBytes: 1500 } }, expected: broken },
  { what: 'a reset of the connection', script: { fault: { kind: 'reset', afterBytes: 1500 } }, expected: broken },
  { what: 'an end without response.completed', script: { edit: leaveOut('completed') }, expected: broken },
  {
    what: '[DONE] in place of response.completed',
    script: { edit: (events) => [...events.slice(0, -1), 'data: [DONE]\n\n'] },
    expected: broken,
  },
  { what: 'an end before any output', script: { fault: { kind: 'cut', afterBytes: 0 } }, expected: failed },
  ...webPages,
];

/** Everything of an answer that ends with a call. */
function callAfterAll(): ExpectedAnswer {
  return { seen: { reasoning: thought, text: words, calls: [weatherSeen], stop: 'tool_calls' } };
}

/** The whole text is still known, and what was lost comes at its end. */
function lostDelta(): ExpectedAnswer {
  return { seen: { text: expect.stringMatching(/^Grüße/), stop: 'end' } };
}

const scriptOf = ({ script }: Variant): Script => ({ blocks: [text], ...script });

describe('a responses upstream that sends', () => {
  it.each([...variants, ...styles, ...usages, ...failures].map((variant, index) => ({ ...variant, index })))('$what', async (variant) => {
    await expectAnswers(gateway, someOver('responses', variant.index), scriptOf(variant), variant.expected, tools);
  });
});
