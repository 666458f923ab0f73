import { describe, expect, it } from '@jest/globals';
import type { Context } from 'koa';
import type { CallContext } from '#client/call-context.js';
import { ManualClock } from '#kit/clock.js';
import { AuthenticateManagementKeyResponse } from '#proto/auth/v1/users.js';
import { mintSecret } from '#rules/keys/key-secrets.js';
import { contextOf, stillActing } from './call-contexts.js';
import { sameSite, signedIn } from './session.js';

/** Reports whether a request to console.example with these headers is admitted. */
async function isAdmitted(headers: Readonly<Record<string, string>>, method = 'POST', publicUrl?: string): Promise<boolean> {
  let admitted = false;
  const ctx = { method, host: 'console.example', get: (name: string) => headers[name] ?? '' } as unknown as Context;
  const next = async (): Promise<void> => void (admitted = true);
  await sameSite({ publicUrl })(ctx, next).catch((error: unknown) => expect(error).toMatchObject({ reason: 'role_not_permitted' }));
  return admitted;
}

describe('a change in the console', () => {
  const header = { 'x-tollgate-console': '1' };
  const own = { ...header, origin: 'https://console.example' };

  it.each<[string, Record<string, string>, boolean]>([
    ['without the header of the console', { origin: 'https://console.example', 'sec-fetch-site': 'same-origin' }, false],
    ['by a program', header, true],
    ['from the console itself', { ...own, 'sec-fetch-site': 'same-origin' }, true],
    ['from the console by a browser without sec-fetch-site', own, true],
    ['from another site', { ...header, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }, false],
    ['from another site by a browser without sec-fetch-site', { ...header, origin: 'https://evil.example' }, false],
    ['from another site that claims the origin of the console', { ...own, 'sec-fetch-site': 'cross-site' }, false],
    ['from a sibling of the site', { ...own, 'sec-fetch-site': 'same-site' }, false],
    ['typed by the user', { ...header, 'sec-fetch-site': 'none' }, false],
    ['behind a proxy that changes the host', { ...header, origin: 'https://outside.example', 'sec-fetch-site': 'same-origin' }, true],
    ['from no readable origin', { ...header, origin: 'null' }, false],
  ])('%s', async (_from, headers, admitted) => {
    expect(await isAdmitted(headers)).toBe(admitted);
    expect(await isAdmitted(headers, 'POST', 'https://public.example/tollgate')).toBe(admitted);
  });

  it('from the public address is admitted, also by a browser without sec-fetch-site behind a proxy that changes the host', async () => {
    const headers = { ...header, origin: 'https://public.example' };
    expect(await isAdmitted(headers, 'POST', 'https://public.example/tollgate')).toBe(true);
    expect(await isAdmitted(headers)).toBe(false);
  });

  it('needs no header for GET and HEAD, which change nothing', async () => {
    for (const method of ['GET', 'HEAD']) expect(await isAdmitted({ 'sec-fetch-site': 'cross-site' }, method)).toBe(true);
  });
});

describe('a request with a management key', () => {
  const clock = new ManualClock();
  const config = { managementPerMinuteMax: 60, rpcTimeoutMs: 1000 };
  let tokens = 0;
  const authenticateManagementKey = async (_request: unknown, context: CallContext) => {
    // The present token may have expired.
    expect(context.actorToken).toBeUndefined();
    tokens += 1;
    const actorToken = { token: `token ${tokens}`, expiresAtMs: BigInt(clock.nowMs() + 120_000) };
    return AuthenticateManagementKeyResponse.fromPartial({ key: { id: 'mkey_1' }, user: {}, membership: {}, actorToken });
  };
  const authorization = `Bearer ${mintSecret(undefined, 'mk-tg-')}`;
  const ctx = { ip: '192.0.2.1', get: (name: string) => (name === 'authorization' ? authorization : '') } as unknown as Context;
  const serve = (next: () => Promise<void>, admitManagement: (keyId: string, max: number) => Promise<void> = async () => undefined) => {
    const deps = { peers: { users: { authenticateManagementKey } }, config, clock, limiter: { admitManagement } };
    return signedIn(deps as unknown as Parameters<typeof signedIn>[0])(ctx, next);
  };

  it('is refused once the key has used up its requests', async () => {
    const refusal = new Error('too many requests');
    let isServed = false;
    const served = serve(
      async () => void (isServed = true),
      async (keyId, max) => {
        expect([keyId, max]).toEqual(['mkey_1', 60]);
        throw refusal;
      },
    );
    await expect(served).rejects.toBe(refusal);
    expect(isServed).toBe(false);
  });

  it('still acts for its user when the response takes longer than an actor token lives', async () => {
    async function* tokensUsed() {
      for (;;) yield contextOf({ config } as Parameters<typeof contextOf>[0]).actorToken;
    }
    let response: AsyncIterable<string | undefined> | undefined;
    await serve(async () => void (response = stillActing(tokensUsed())));
    const used = response![Symbol.asyncIterator]();
    const first = (await used.next()).value;
    clock.advance(70_000);
    expect((await used.next()).value).toBe(first);
    // No RPC may take longer than the token lives.
    clock.advance(10_000);
    expect((await used.next()).value).not.toBe(first);
  });
});
