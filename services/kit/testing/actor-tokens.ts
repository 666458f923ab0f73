// Signs actor tokens, valid and invalid, for tests of their verification.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose/jwt/sign';
import { type ActorClaims, type ActorKey, actorTokenRules } from '../rpc/actor-token.js';

/** The claims to set; all others are valid. */
export type ActorTokenFields = Partial<ActorClaims> & { readonly typ?: string };

/** A key pair that signs. */
export interface TestActorSigner {
  readonly key: ActorKey;
  sign(nowMs: number, fields?: ActorTokenFields): Promise<string>;
}

/** Returns a signer with a new key. */
export function testActorSigner(kid = 'key-1'): TestActorSigner {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    key: { kid, publicKey: Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url') },
    sign: (nowMs, fields) => signActorToken(privateKey, kid, nowMs, fields),
  };
}

/** Returns a token for user_1, issued to the gateway, unless the fields say otherwise. */
export function signActorToken(
  privateKey: KeyObject,
  kid: string,
  nowMs: number,
  { typ = actorTokenRules.typ, ...fields }: ActorTokenFields = {},
): Promise<string> {
  const seconds = Math.floor(nowMs / 1000);
  return new SignJWT({
    iss: actorTokenRules.issuer,
    aud: actorTokenRules.audience,
    azp: 'gateway',
    sub: 'user_1',
    sid: 'sess_1',
    email: 'ada@example.com',
    operator: false,
    roles: { acct_1: 'owner' },
    project_roles: {},
    client_address: '192.0.2.1',
    iat: seconds,
    exp: seconds + 120,
    jti: 'act_1',
    ...fields,
  })
    .setProtectedHeader({ alg: actorTokenRules.algorithm, kid, typ })
    .sign(privateKey);
}
