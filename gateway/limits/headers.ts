// The headers that show clients what their limits leave, by the names that the libraries of each API format know. Pure.
import type { FormatName } from '../formats/format.js';
import type { Figures } from './limits.js';

/** A limit and what is left of it. */
interface Left {
  readonly limit: number;
  readonly remaining: number;
  /** The time until nothing counts against it. */
  readonly resetMs: number;
}

type HeadersOf = (name: 'requests' | 'tokens', left: Left, nowMs: number) => Record<string, string>;

const ofOpenAi: HeadersOf = (name, { limit, remaining, resetMs }) => ({
  [`x-ratelimit-limit-${name}`]: String(limit),
  [`x-ratelimit-remaining-${name}`]: String(remaining),
  [`x-ratelimit-reset-${name}`]: span(resetMs),
});

const headersOf: Record<FormatName, HeadersOf> = {
  'chat-completions': ofOpenAi,
  responses: ofOpenAi,
  embeddings: ofOpenAi,
  messages: (name, { limit, remaining, resetMs }, nowMs) => ({
    [`anthropic-ratelimit-${name}-limit`]: String(limit),
    [`anthropic-ratelimit-${name}-remaining`]: String(remaining),
    [`anthropic-ratelimit-${name}-reset`]: `${new Date(Math.ceil((nowMs + resetMs) / 1000) * 1000).toISOString().slice(0, 19)}Z`,
  }),
};

/** Returns the headers of one limit on requests and one on tokens: those of which the least is left. */
export function limitHeaders(format: FormatName, figures: readonly Figures[], nowMs: number): Record<string, string> {
  const requests = least(figures, 'requests', (each) => each.requestsResetMs);
  const tokens = least(figures, 'tokens', (each) => each.tokensResetMs);
  return {
    ...(requests === undefined ? {} : headersOf[format]('requests', requests, nowMs)),
    ...(tokens === undefined ? {} : headersOf[format]('tokens', tokens, nowMs)),
  };
}

function least(figures: readonly Figures[], name: 'requests' | 'tokens', resetMsOf: (of: Figures) => number): Left | undefined {
  let found: Left | undefined;
  for (const each of figures) {
    const limit = each.subject[name];
    if (limit === undefined) continue;
    const remaining = Math.max(0, limit - each[name]);
    if (found === undefined || remaining < found.remaining) found = { limit, remaining, resetMs: resetMsOf(each) };
  }
  return found;
}

/** Returns a duration such as "350ms", "12s" or "1m0s". */
function span(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
