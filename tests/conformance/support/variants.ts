// One way in which an upstream's stream differs from the vendor's, and those that are the same for every format.
import type { Json } from '../../upstream/checks/check.js';
import type { Block, Script } from '../../upstream/script.js';
import type { ExpectedAnswer } from './expect-answer.js';
import type { Path } from './paths.js';

/** What the upstream sends, and what the caller reads of it. */
export const words = 'Grüße, 世界 👋🏽 — and good night.';
export const thought = 'First I greet, then I part.';
export const text: Block = { type: 'text', text: words };
export const weather = { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: '{"city":"Zürich"}' } as const satisfies Block;
export const time = { type: 'tool_call', id: 'call_2', name: 'get_time', arguments: '{"zone":"CET"}' } as const satisfies Block;
export const weatherSeen = { id: 'call_1', name: 'get_weather', arguments: '{"city":"Zürich"}' };
const timeSeen = { id: 'call_2', name: 'get_time', arguments: '{"zone":"CET"}' };
export const textSeen: ExpectedAnswer = { seen: { text: words, calls: [], stop: 'end' } };
export const callSeen: ExpectedAnswer = { seen: { text: '', calls: [weatherSeen], stop: 'tool_calls' } };
export const callsSeen: ExpectedAnswer = { seen: { calls: [weatherSeen, timeSeen], stop: 'tool_calls' } };
/** A stream that breaks off in the middle; a caller that requested a whole answer receives nothing of it. */
export const broken: ExpectedAnswer = { end: { kind: 'broken' }, seen: { stop: undefined } };

export type Edit = NonNullable<Script['edit']>;
/** Changes each event of a stream. */
export const each =
  (change: (event: Json, index: number) => Json | string): Edit =>
  (events) =>
    events.map(change);
export const without = (object: Json, ...keys: string[]): Json =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));

export interface Variant {
  readonly what: string;
  readonly script?: Script;
  readonly expected: ExpectedAnswer | ((path: Path) => ExpectedAnswer);
}

export const failed: ExpectedAnswer = { end: { kind: 'failed' } };

/** The response that a proxy in front of the upstream sends in place of the answer. */
export const webPages: readonly Variant[] = [
  {
    what: 'a web page with status 200',
    script: { fault: { kind: 'status', status: 200, body: '<html>Please log in</html>' } },
    expected: failed,
  },
  {
    what: 'a web page with status 502',
    script: { fault: { kind: 'status', status: 502, body: '<html>Bad gateway</html>' } },
    expected: failed,
  },
];
