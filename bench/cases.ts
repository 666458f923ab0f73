// The loads of the benchmark: which calls, how often, and for how long.
import type { Load } from './load.ts';

/** A load on any contender. */
export interface LoadCase extends Omit<Load, 'url' | 'headers'> {
  readonly title: string;
  readonly path: string;
}

/** The wire formats, by their paths. */
const formats = {
  chat: { path: '/v1/chat/completions', model: 'openai/gpt-4.1-mini' },
  messages: { path: '/v1/messages', model: 'anthropic/claude-haiku-4-5' },
  responses: { path: '/v1/responses', model: 'bench/responses' },
} as const;

/** The name of a wire format. */
export type Format = keyof typeof formats;

/** Returns the body of a caller of one format for a model of another. */
function ask(caller: Format, upstream: Format, content: string, stream: boolean): string {
  const { model } = formats[upstream];
  const conversation = [{ role: 'user', content }];
  return JSON.stringify(
    caller === 'responses'
      ? { model, stream, max_output_tokens: 4000, input: conversation }
      : { model, stream, max_tokens: 4000, messages: conversation },
  );
}

const hello = 'Say hello in a few words, tokens=8';
const sentence = 'The quick brown fox jumps over the lazy dog and runs away from 37 angry bees. ';
/** The text pieces of a stream, and those of a long one, from whose difference the cost of an event is known. */
export const streamTokens = { short: 200, long: 1920 };

/** Returns a whole call by a caller of one format of a model of another. */
export function wholeCall(caller: Format, upstream: Format): LoadCase {
  return {
    title: 'whole call, 32 callers',
    path: formats[caller].path,
    body: ask(caller, upstream, hello, false),
    callers: 32,
    durationMs: 2500,
  };
}

/** Returns a stream of the given number of text pieces at full speed. */
export function stream(caller: Format, upstream: Format, tokens = streamTokens.short): LoadCase {
  return {
    title: `stream of ${tokens} events, 8 callers`,
    path: formats[caller].path,
    body: ask(caller, upstream, `Tell a story, tokens=${tokens}`, true),
    callers: 8,
    durationMs: 2500,
  };
}

/** The loads that every contender gets, in chat-completions format. */
export const loads = {
  whole: wholeCall('chat', 'chat'),
  streamed: stream('chat', 'chat'),
  lone: { ...wholeCall('chat', 'chat'), title: '20 calls/s, one connection', callers: 1, callsPerSecond: 20, durationMs: 4000 },
  paced: { ...wholeCall('chat', 'chat'), title: '100 calls/s', callsPerSecond: 100, durationMs: 3000 },
  large: {
    ...wholeCall('chat', 'chat'),
    title: 'whole call, 100 kB prompt, 8 callers',
    body: ask('chat', 'chat', `${sentence.repeat(Math.ceil(100_000 / sentence.length))}${hello}`, false),
    callers: 8,
  },
} satisfies Record<string, LoadCase>;

/** The name of a load. */
export type LoadName = keyof typeof loads;

/** Streams that send an event per second, to measure the memory of open ones. */
export const openStreams: Omit<LoadCase, 'callers'> = {
  title: 'open streams',
  path: formats.chat.path,
  body: ask('chat', 'chat', 'Tell a story, tokens=16 delay=1000ms', true),
  durationMs: 60_000,
};
