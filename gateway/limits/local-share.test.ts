import { describe, expect, it } from '@jest/globals';
import { ManualClock } from '#kit/clock.js';
import { windowMemory, WindowTable } from '#kit/limits/window-table.js';
import { Key, RateLimits } from '#proto/auth/v1/auth.js';
import { createLimiter } from './limiter.js';
import type { Figures } from './limits.js';
import { takeShare } from './local-share.js';

/** Starts one of four gateways, where a key has this limit and its account has ten times the limit. */
function start(limits: Partial<RateLimits>) {
  const clock = new ManualClock();
  const table = new WindowTable(windowMemory(1, 64), 1);
  const tenfold = Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, 10 * limit]));
  const limiter = createLimiter({
    store: { take: (subjects, demand, nowMs) => takeShare(table, subjects, demand, 4, nowMs) },
    clock,
    defaults: {
      key: RateLimits.fromPartial(limits),
      project: undefined,
      account: RateLimits.fromPartial(tenfold),
      accountModel: undefined,
    },
  });
  const shown: Figures[] = [];
  /** Admits a call of about this many tokens. */
  const admit = (tokens: number, keyId = 'key_1') =>
    limiter.admit(
      {
        key: Key.fromPartial({ id: keyId, projectId: 'proj_1', accountId: 'acct_1' }),
        parsed: { inputTokensMax: 4 * tokens, images: 0, documents: 0 },
        onLimits: (figures) => shown.splice(0, shown.length, ...figures),
      },
      'a/model',
    );
  return { clock, admit, shown };
}

describe("a gateway's share of a limit", () => {
  it('admits that many requests, and its refusals name the limit', async () => {
    const { admit, shown } = start({ requestsPerMinute: 12 });
    for (let count = 0; count < 3; count += 1) await admit(1);
    const details = { scope: 'key', limit: 'requests_per_minute', max: '12', used: '3', needed: '1' };
    await expect(admit(1)).rejects.toMatchObject({ details, retryAfterMs: expect.any(Number) });
    expect(shown).toMatchObject([
      { requests: 3, subject: { requests: 3 } },
      { requests: 3, subject: { requests: 30 } },
    ]);
  });

  it('admits at least one request', async () => {
    const { admit } = start({ requestsPerMinute: 1 });
    await admit(1);
    await expect(admit(1)).rejects.toMatchObject({ details: { max: '1' } });
  });

  it('admits a call that needs more tokens than the share while nothing else counts, and counts all of them', async () => {
    const { clock, admit, shown } = start({ tokensPerMinute: 100_000 });
    await admit(10);
    await expect(admit(40_000)).rejects.toMatchObject({ details: { max: '100000', needed: '40000' }, retryAfterMs: expect.any(Number) });
    clock.advance(61_000);
    await admit(40_000);
    expect(shown).toMatchObject([
      { tokens: 40_000, subject: { tokens: 25_000 } },
      { tokens: 40_000, subject: { tokens: 250_000 } },
    ]);
    for (const tokens of [1, 40_000]) await expect(admit(tokens)).rejects.toMatchObject({ details: { scope: 'key', max: '100000' } });
    await admit(25_000, 'key_2');
  });

  it('refuses a call for good only if it needs more tokens than the limit', async () => {
    const { admit } = start({ tokensPerMinute: 100_000 });
    const error = await Promise.resolve(admit(100_001)).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ details: { max: '100000', needed: '100001' }, retryAfterMs: undefined });
    await admit(100_000);
  });
});
