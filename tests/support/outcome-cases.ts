// The cases of the table of outcomes: what the upstream does, when the client disconnects, and the expected result.
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { Fault, Script } from '../upstream/script.js';
import { type Combination, promptText } from './clients/answers.js';

/** The output cap of every call. */
export const maxTokens = 100;
const sentence =
  'It was a bright cold day in April, and the clocks were striking thirteen; Winston Smith slipped quickly through the glass doors.';
/** The usage that the upstream reports, if the call gets that far. */
const usage = { input: 12, cacheRead: 3, output: 34 };
const deltas = 5;
const deltaChars = 8;
/** The text that has arrived after `deltas` deltas. */
export const part = sentence.slice(0, deltas * deltaChars);

/** Classes of tokens that cost something. */
export interface Tokens {
  readonly input: number;
  readonly cacheRead: number;
  readonly output: number;
}

/** The expected result of one combination. */
export interface Expected {
  readonly outcome: string;
  readonly detail: string;
  readonly source: 'reported' | 'estimated';
  readonly quarantined?: boolean;
  readonly tokens: Tokens;
  readonly free?: boolean;
  /** Status of the HTTP response; absent if the client disconnected, because it may not have received one. */
  readonly status?: number;
  readonly text?: string;
  readonly isComplete: boolean;
  readonly hasError?: boolean;
}

/** A case that leads to an outcome. */
export interface Case {
  /** The row of the table. */
  readonly row: string;
  readonly what: string;
  readonly script: (upstream: 'cc' | 'm') => Script;
  readonly leave?: 'when-requested' | 'when-accepted' | 'after-part' | 'in-the-middle';
  readonly expected: (combination: Combination) => Expected;
  readonly inDistributed?: boolean;
}

/** Returns the number of frames after which exactly `part` has arrived; the first ones contain the role and open the block. */
const framesOf = (upstream: 'cc' | 'm'): number => deltas + (upstream === 'cc' ? 1 : 3);
const breaksOff =
  (fault: (frames: number) => Fault, frames = framesOf) =>
  (upstream: 'cc' | 'm'): Script => ({
    blocks: [{ type: 'text', text: sentence }],
    deltaChars,
    usage,
    fault: fault(frames(upstream)),
  });
const stalls = breaksOff((afterFrames) => ({ kind: 'stall', afterFrames }));
/** A script that sends `part`, and then nothing until the connection closes. */
export const lingers = breaksOff((afterFrames) => ({ kind: 'stall', afterFrames, signsOfLife: true }));
const errorFrame = (afterFrames: number): Fault => ({
  kind: 'error-frame',
  afterFrames,
  error: { type: 'api_error', message: 'Broken.', param: null, code: null },
});

const reported: Tokens = usage;
/** Returns the tokenizer's count, or the running estimate. A messages upstream reports its input at the start. */
export const ours = (upstream: 'cc' | 'm', text: string, count: 'exact' | 'running'): Tokens => {
  const prompt = 4 + (count === 'exact' ? countTokens(promptText) : Math.ceil(Buffer.byteLength(promptText) / 4));
  const output = count === 'exact' ? countTokens(text) : Math.ceil(Buffer.byteLength(text) / 4);
  return upstream === 'm' ? { input: usage.input, cacheRead: usage.cacheRead, output } : { input: prompt, cacheRead: 0, output };
};
const finished = { source: 'reported', tokens: reported, status: 200, text: sentence, isComplete: true } as const;
/** Returns the expected result of an answer that broke off; nothing was delivered of one that is not streamed. */
export const broken = (combination: Combination, status: number) =>
  ({
    source: 'estimated',
    tokens: ours(combination.upstream, part, 'exact'),
    free: !combination.streaming,
    isComplete: false,
    hasError: true,
    ...(combination.streaming ? { status: 200, text: part } : { status, text: '' }),
  }) as const;

/** All cases that need only an upstream. */
export const cases: readonly Case[] = [
  {
    row: 'completed',
    what: 'by the figures of the upstream',
    script: () => ({ blocks: [{ type: 'text', text: sentence }], usage }),
    expected: () => ({ outcome: 'completed', detail: '', ...finished }),
    inDistributed: true,
  },
  {
    row: 'completed',
    what: 'by our count if the upstream reported none',
    script: () => ({ blocks: [{ type: 'text', text: sentence }], usage: 'none' }),
    // A messages upstream cannot omit its input; the zero that it reports instead is not a plausible input.
    expected: ({ upstream }) => ({
      ...finished,
      outcome: 'completed',
      detail: upstream === 'm' ? 'input_zero' : '',
      source: 'estimated',
      quarantined: upstream === 'm',
      tokens: ours('cc', sentence, 'exact'),
    }),
    inDistributed: true,
  },
  {
    row: 'completed',
    what: 'by our count if the upstream’s figures are implausible',
    script: () => ({ blocks: [{ type: 'text', text: sentence }], usage: { input: -5, output: 1e12 } }),
    expected: () => ({
      ...finished,
      outcome: 'completed',
      detail: 'not_a_count',
      source: 'estimated',
      quarantined: true,
      tokens: ours('cc', sentence, 'exact'),
    }),
  },
  {
    row: 'max_tokens',
    what: 'at its output cap',
    script: (upstream) => ({
      blocks: [{ type: 'text', text: sentence }],
      usage: { ...usage, output: maxTokens },
      stopReason: upstream === 'cc' ? 'length' : 'max_tokens',
    }),
    expected: () => ({ ...finished, outcome: 'max_tokens', detail: '', tokens: { ...reported, output: maxTokens } }),
  },
  {
    row: 'client_disconnected',
    what: 'before the upstream accepted the call, is free',
    script: () => ({ fault: { kind: 'slow-headers', delayMs: 20_000 } }),
    leave: 'when-requested',
    expected: () => ({
      outcome: 'client_disconnected',
      detail: '',
      source: 'estimated',
      tokens: { input: 0, cacheRead: 0, output: 0 },
      free: true,
      isComplete: false,
    }),
  },
  {
    row: 'client_disconnected',
    what: 'long before the end, is charged up to the disconnect',
    script: lingers,
    leave: 'after-part',
    expected: ({ upstream }) => ({
      outcome: 'client_disconnected',
      detail: '',
      source: 'estimated',
      tokens: ours(upstream, part, 'exact'),
      isComplete: false,
    }),
    inDistributed: true,
  },
  {
    row: 'client_disconnected',
    what: 'before the answer begins, is charged the input of an upstream that accepted the call',
    script: () => ({ fault: { kind: 'stall', afterFrames: 0 } }),
    leave: 'when-accepted',
    expected: () => ({
      outcome: 'client_disconnected',
      detail: '',
      source: 'estimated',
      tokens: ours('cc', '', 'exact'),
      isComplete: false,
    }),
    inDistributed: true,
  },
  {
    row: 'client_disconnected',
    what: 'shortly before the end, is charged by the figures of the upstream',
    script: () => ({ blocks: [{ type: 'text', text: part }], deltaChars, usage, frameDelayMs: 120 }),
    leave: 'in-the-middle',
    expected: () => ({ outcome: 'client_disconnected', detail: '', source: 'reported', tokens: reported, isComplete: false }),
    inDistributed: true,
  },
  {
    row: 'rejected',
    what: 'by the upstream, is free',
    script: () => ({
      fault: {
        kind: 'status',
        status: 400,
        body: { type: 'error', error: { type: 'invalid_request_error', message: 'no', code: null, param: null } },
      },
    }),
    expected: () => ({
      outcome: 'rejected',
      detail: 'upstream_rejected',
      source: 'estimated',
      tokens: { input: 0, cacheRead: 0, output: 0 },
      free: true,
      status: 400,
      text: '',
      isComplete: false,
      hasError: true,
    }),
  },
  {
    row: 'upstream_error_before_output',
    what: 'as an answer of its own, is free',
    script: () => ({
      fault: { kind: 'status', status: 500, body: { type: 'error', error: { type: 'api_error', message: 'no', code: null, param: null } } },
    }),
    expected: () => ({
      outcome: 'upstream_error_before_output',
      detail: 'upstream_failed',
      source: 'estimated',
      tokens: { input: 0, cacheRead: 0, output: 0 },
      free: true,
      status: 502,
      text: '',
      isComplete: false,
      hasError: true,
    }),
    inDistributed: true,
  },
  {
    row: 'upstream_error_before_output',
    what: 'within its answer, is free',
    script: breaksOff(errorFrame, () => 1),
    expected: (combination) => ({
      ...broken(combination, 502),
      outcome: 'upstream_error_before_output',
      detail: 'upstream_failed',
      tokens: ours(combination.upstream, '', 'exact'),
      free: true,
      text: '',
    }),
  },
  {
    row: 'upstream_error_after_output',
    what: 'by an error in its answer',
    script: breaksOff(errorFrame),
    expected: (combination) => ({ ...broken(combination, 502), outcome: 'upstream_error_after_output', detail: 'upstream_failed' }),
    inDistributed: true,
  },
  {
    row: 'upstream_error_after_output',
    what: 'by a broken frame',
    script: breaksOff((afterFrames) => ({ kind: 'malformed-json', afterFrames })),
    expected: (combination) => ({ ...broken(combination, 502), outcome: 'upstream_error_after_output', detail: 'upstream_failed' }),
  },
  {
    row: 'timeout',
    what: 'before output, is free',
    script: () => ({ fault: { kind: 'slow-headers', delayMs: 20_000 } }),
    expected: () => ({
      outcome: 'timeout',
      detail: 'upstream_timeout',
      source: 'estimated',
      tokens: { input: 0, cacheRead: 0, output: 0 },
      free: true,
      status: 504,
      text: '',
      isComplete: false,
      hasError: true,
    }),
  },
  {
    row: 'timeout',
    what: 'in the middle of an answer',
    script: stalls,
    expected: (combination) => ({ ...broken(combination, 504), outcome: 'timeout', detail: 'upstream_timeout' }),
  },
];

/** A case of an answer that the upstream sends whole. */
export interface WholeCase {
  readonly what: string;
  readonly script: Script;
  /** The client disconnects when the upstream has received the request. */
  readonly disconnects: boolean;
  readonly expected: Expected;
}

const left = { outcome: 'client_disconnected', detail: '', isComplete: false } as const;
const noTokens: Tokens = { input: 0, cacheRead: 0, output: 0 };
const said = { blocks: [{ type: 'text', text: sentence }], usage } as const;

/** The cases of answers that the upstream sends whole. */
export const wholeCases: readonly WholeCase[] = [
  { what: 'it is completed', script: said, disconnects: false, expected: { outcome: 'completed', detail: '', ...finished } },
  {
    what: 'it is charged by the figures of the upstream if it arrives shortly after a disconnect',
    script: { ...said, frameDelayMs: 700 },
    disconnects: true,
    expected: { ...left, source: 'reported', tokens: reported },
  },
  {
    what: 'its input is charged if only its status line arrives after a disconnect',
    script: { ...said, fault: { kind: 'stall', afterFrames: 0 } },
    disconnects: true,
    expected: { ...left, source: 'estimated', tokens: ours('cc', '', 'exact') },
  },
  {
    what: 'it is free if nothing arrives after a disconnect',
    script: { fault: { kind: 'slow-headers', delayMs: 20_000 } },
    disconnects: true,
    expected: { ...left, source: 'estimated', tokens: noTokens, free: true },
  },
];
