import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../clock.js';
import { testActorSigner, type ActorTokenFields } from '../testing/actor-tokens.js';
import { failureOf } from '../testing/waiting.js';
import { ActorVerifier } from './actor-token.js';

const nowSeconds = 1_800_000_000;

describe('the verification of actor tokens', () => {
  let clock: ManualClock;
  let verifier: ActorVerifier;
  const signer = testActorSigner();
  const token = (fields?: ActorTokenFields): Promise<string> => signer.sign(clock.nowMs(), fields);
  const verify = async (text: string, caller = 'gateway') => verifier.verify(text, caller);

  beforeEach(() => {
    clock = new ManualClock(nowSeconds * 1000);
    verifier = new ActorVerifier(clock);
    verifier.setKeys([signer.key]);
  });

  it('returns the acting user', async () => {
    expect(await verify(await token({ operator: true }))).toEqual({
      userId: 'user_1',
      sessionId: 'sess_1',
      email: 'ada@example.com',
      isOperator: true,
      roles: new Map([['acct_1', 'owner']]),
      projectRoles: new Map(),
      clientAddress: '192.0.2.1',
      managementKey: undefined,
    });
  });

  it('returns the management key that the user acts with', async () => {
    const key = { id: 'mkey_1', name: 'CI' };
    expect(await verify(await token({ management_key: { ...key, scopes: ['keys:read'] } }))).toMatchObject({
      managementKey: { ...key, scopes: new Set(['keys:read']) },
    });
  });

  it('caches a verified token, for its caller, until the token expires or its key is withdrawn', async () => {
    const text = await token();
    await verify(text);
    expect(verifier.verify(text, 'gateway')).not.toBeInstanceOf(Promise);
    expect(await failureOf(verify(text, 'metering'))).toMatchObject({ reason: 'actor_refused' });
    await verify(text);
    clock.advance(180_000);
    expect(await failureOf(verify(text))).toMatchObject({ reason: 'actor_refused' });

    const other = await token();
    await verify(other);
    verifier.setKeys([testActorSigner('key-2').key]);
    expect(await failureOf(verify(other))).toMatchObject({ reason: 'actor_refused' });
  });

  it('lets calls wait for the first keys, until they arrive or the wait is over', async () => {
    const fresh = new ActorVerifier(clock);
    await fresh.keysOrTimeout(5);
    expect(fresh.hasKeys()).toBe(false);
    // Far longer than the test may take: only the keys end it.
    const waiting = [fresh.keysOrTimeout(600_000), fresh.keysOrTimeout(600_000)];
    fresh.setKeys([signer.key]);
    await Promise.all(waiting);
    expect(fresh.hasKeys()).toBe(true);
    await fresh.keysOrTimeout(600_000);
  });

  const refused: [string, ActorTokenFields][] = [
    ['of another issuer', { iss: 'somebody' }],
    ['for another audience', { aud: 'billing' }],
    ['issued to another caller', { azp: 'metering' }],
    ['issued to no caller', { azp: undefined }],
    ['that has expired', { exp: nowSeconds - 31 }],
    ['that never expires', { exp: undefined }],
    ['that was signed more than five minutes ago', { iat: nowSeconds - 331 }],
    ['from the future', { iat: nowSeconds + 31, exp: nowSeconds + 100 }],
    ['of another type', { typ: 'JWT' }],
    ['without a subject', { sub: undefined }],
    ['without roles', { roles: undefined }],
  ];
  it.each(refused)('rejects a token %s', async (_, fields) => {
    const error = await failureOf(verify(await token(fields)));
    expect(error).toMatchObject({ reason: 'actor_refused', code: 16 });
  });

  it('rejects a changed token, a token of another key, and text that is not a token', async () => {
    const [head, body, signature] = (await token()).split('.') as [string, string, string];
    const forged = Buffer.from(body, 'base64url').toString().replace('"operator":false', '"operator":true');
    const unsigned = Buffer.from('{"alg":"none","kid":"key-1","typ":"tollgate-actor+jwt"}').toString('base64url');
    const stranger = await testActorSigner('key-1').sign(clock.nowMs());
    const unknown = await testActorSigner('key-9').sign(clock.nowMs());
    for (const text of [
      `${head}.${Buffer.from(forged).toString('base64url')}.${signature}`,
      `${unsigned}.${body}.`,
      `${head}.${body}.`,
      stranger,
      unknown,
      '',
      'x'.repeat(20_000),
    ])
      expect(await failureOf(verify(text))).toMatchObject({ reason: 'actor_refused' });
  });
});
