import { describe, expect, it } from '@jest/globals';
import { systemClock } from '#kit/clock.js';
import { AccountRateLimits, Key, Project } from '#proto/auth/v1/auth.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { renderings } from '../formats/errors/openai-error.js';
import { retryHeaders } from '../formats/errors/error-details.js';
import { rateLimitError } from './errors.js';
import { limitHeaders } from './headers.js';
import { countedTokens, createLimiter, type LimitStore } from './limiter.js';
import { estimatedTokens, type Figures, subjectsOf } from './limits.js';

const none = { key: undefined, project: undefined, account: undefined, accountModel: undefined };
const key = (rateLimits?: object): Key =>
  Key.fromPartial({ id: 'key_1', accountId: 'acct_1', projectId: 'proj_1', ...(rateLimits === undefined ? {} : { rateLimits }) });
const limits = (requestsPerMinute?: number, tokensPerMinute?: number) => ({
  requestsPerMinute,
  tokensPerMinute,
  concurrentCalls: undefined,
});

describe('the limits of a call', () => {
  it('are none if neither a user nor the operator set one', () => {
    expect(subjectsOf({ key: key() }, 'a/model', none)).toBeUndefined();
    expect(subjectsOf({ key: key({}), accountRateLimits: AccountRateLimits.fromPartial({}) }, 'a/model', none)).toBeUndefined();
  });

  it('are those of the key, its project, the account, and the model within the account', () => {
    const accountRateLimits = AccountRateLimits.fromPartial({
      allModels: { requestsPerMinute: 600 },
      models: [{ modelId: 'a/model', limits: { tokensPerMinute: 9000 } }],
    });
    const project = Project.fromPartial({ id: 'proj_1', rateLimits: { tokensPerMinute: 700 } });
    const caller = { key: key({ requestsPerMinute: 60, concurrentCalls: 5 }), project, accountRateLimits };
    expect(subjectsOf(caller, 'a/model', none)).toMatchObject([
      { scope: 'key', requests: 60, tokens: undefined, concurrent: 5 },
      { scope: 'project', id: 'proj_1', tokens: 700 },
      { scope: 'account_model', requests: undefined, tokens: 9000 },
      { scope: 'account', requests: 600 },
    ]);
    expect(subjectsOf(caller, 'another/model', none)!.map(({ scope }) => scope)).toEqual(['key', 'project', 'account']);
  });

  it('are the defaults for absent limits, and none for 0', () => {
    const defaults = { ...none, key: limits(10, 1000) };
    expect(subjectsOf({ key: key() }, 'm', defaults)).toMatchObject([{ requests: 10, tokens: 1000 }]);
    expect(subjectsOf({ key: key({ requestsPerMinute: 20 }) }, 'm', defaults)).toMatchObject([{ requests: 20, tokens: 1000 }]);
    expect(subjectsOf({ key: key({ requestsPerMinute: 0, tokensPerMinute: 0 }) }, 'm', defaults)).toBeUndefined();
  });

  it('are counted separately for each key, project, account and model', () => {
    const defaults = { key: limits(1), project: limits(1), account: limits(1), accountModel: limits(1) };
    const hashes = ['m', 'n'].flatMap((model) => subjectsOf({ key: key() }, model, defaults)!.map(({ hash }) => hash.join()));
    expect(new Set(hashes).size).toBe(5);
  });

  it('estimate the prompt as a quarter of its bytes', () => {
    expect(estimatedTokens({ inputTokensMax: 4002, images: 1, documents: 0 })).toBe(2001);
  });
});

const figures = (fields: Partial<Figures['subject']>, used: Partial<Figures>): Figures => ({
  subject: { scope: 'key', id: 'key_1', hash: [1, 2], requests: undefined, tokens: undefined, concurrent: undefined, ...fields },
  requests: 0,
  tokens: 0,
  inFlight: 0,
  requestsResetMs: 0,
  tokensResetMs: 0,
  ...used,
});

describe('the headers', () => {
  const nowMs = Date.parse('2027-01-15T08:00:00.250Z');
  const all = [
    figures({ requests: 60, tokens: 1000 }, { requests: 10, tokens: 1200, requestsResetMs: 61_500, tokensResetMs: 350 }),
    figures({ scope: 'account', requests: 100 }, { requests: 95, requestsResetMs: 12_000 }),
  ];

  it('show the limit with the least left, in the headers of each format', () => {
    expect(limitHeaders('chat-completions', all, nowMs)).toEqual({
      'x-ratelimit-limit-requests': '100',
      'x-ratelimit-remaining-requests': '5',
      'x-ratelimit-reset-requests': '12s',
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '350ms',
    });
    expect(limitHeaders('messages', all, nowMs)).toEqual({
      'anthropic-ratelimit-requests-limit': '100',
      'anthropic-ratelimit-requests-remaining': '5',
      'anthropic-ratelimit-requests-reset': '2027-01-15T08:00:13Z',
      'anthropic-ratelimit-tokens-limit': '1000',
      'anthropic-ratelimit-tokens-remaining': '0',
      'anthropic-ratelimit-tokens-reset': '2027-01-15T08:00:01Z',
    });
    expect(limitHeaders('chat-completions', [all[0]!], nowMs)).toMatchObject({ 'x-ratelimit-reset-requests': '1m2s' });
  });

  it('are absent for a limit that is not set', () => {
    expect(limitHeaders('chat-completions', [figures({ concurrent: 1 }, {})], nowMs)).toEqual({});
  });
});

describe('the error', () => {
  it('contains the delay of the header, and uses the singular for one', () => {
    const refusal = {
      figures: figures({ scope: 'key' }, {}),
      limit: 'requests',
      max: 1,
      used: 1,
      needed: 1,
      retryAfterMs: 60_500,
    } as const;
    const error = rateLimitError(refusal, 'a/model');
    expect(error.message).toBe('This key may make 1 request per minute and has made 1. Try again in 60 s.');
    expect(retryHeaders(error, renderings.rate_limited)).toEqual({ 'retry-after': '60' });
  });

  it('names the limit and its figures', () => {
    const refusal = { figures: figures({ scope: 'account_model' }, {}), limit: 'tokens', max: 100, used: 90, needed: 20 } as const;
    expect(rateLimitError({ ...refusal, retryAfterMs: 2100 }, 'a/model')).toMatchObject({
      reason: 'rate_limited',
      retryAfterMs: 2100,
      message:
        'This account may use 100 tokens per minute of the model "a/model" and has used 90; this request needs about 20. Try again in 3 s.',
      details: { scope: 'account_model', limit: 'tokens_per_minute', max: '100', used: '90', needed: '20' },
    });
    const never = rateLimitError({ ...refusal, needed: 101, retryAfterMs: undefined }, 'a/model');
    expect(never.retryAfterMs).toBeUndefined();
    expect(never.message).toContain('more than the limit of 100 tokens per minute');
  });
});

describe('a call that is counted', () => {
  const ends: number[] = [];
  const store: LimitStore = {
    take: (subjects) => ({ figures: subjects.map((subject) => figures(subject, {})), end: (tokens) => void ends.push(tokens) }),
  };
  const limiter = createLimiter({ store, defaults: { ...none, key: limits(10, 1000) }, clock: systemClock });
  const call = { key: key(), parsed: { inputTokensMax: 400, images: 0, documents: 0 } };
  const endsOf = async (act: () => unknown): Promise<number[]> => {
    ends.length = 0;
    await act();
    return [...ends];
  };

  it('ends once, with the tokens that it used, or else its estimate', async () => {
    for (const [used, counted] of [
      [7, 7],
      [undefined, 100],
    ])
      expect(
        await endsOf(async () => {
          const admission = await limiter.admit(call, 'm');
          admission!.end(used);
          admission!.end(9);
        }),
      ).toEqual([counted]);
  });

  it('ends at once without tokens if it is a replay, a count of tokens or a request with a management key', async () => {
    expect(await endsOf(() => limiter.admitReplay(call, 'm'))).toEqual([0]);
    expect(await endsOf(() => limiter.admitCount('key_1', 1))).toEqual([0]);
    expect(await endsOf(() => limiter.admitManagement('key_1', 1))).toEqual([0]);
  });

  it('counts all of its tokens, those of caches too', () => {
    const tokens = { inputTokens: 1, cacheReadTokens: 10, cacheWrite5mTokens: 100, cacheWrite1hTokens: 1000, outputTokens: 10_000 };
    expect(countedTokens(TokenCounts.fromPartial({ ...tokens, reasoningTokens: 5 }))).toBe(11_111);
  });
});
