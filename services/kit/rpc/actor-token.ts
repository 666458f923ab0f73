// Verifies the signed tokens that prove on behalf of which user a caller acts. Verification needs only public keys and no RPC.
import type { CryptoKey, JWTPayload } from 'jose';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { jwtVerify } from 'jose/jwt/verify';
import { importJWK } from 'jose/key/import';
import type { Clock } from '../clock.js';
import { AppError } from '#client/errors/app-error.js';
import type { Actor } from '#client/call-context.js';

/** The issuer and audience of actor tokens, and the type that no other kind of token has (RFC 8725, section 3.11). */
export const actorTokenRules = {
  issuer: 'tollgate-auth',
  audience: 'tollgate-services',
  typ: 'tollgate-actor+jwt',
  algorithm: 'EdDSA',
} as const;

/** The maximum lifetime of a token, in seconds. */
export const actorTokenSecondsMax = 300;

// The maximum clock difference between two machines.
const clockToleranceSeconds = 30;
// Longer than any token that auth signs, and shorter than an HTTP/2 header may be.
const tokenCharsMax = 16_384;
const verifiedMax = 1000;

/** A public key, as auth publishes it. */
export interface ActorKey {
  readonly kid: string;
  /** The 32 bytes of an Ed25519 public key. */
  readonly publicKey: Uint8Array;
}

/** The claims of a token, including the private ones. */
export interface ActorClaims extends JWTPayload {
  readonly sid: string;
  readonly email: string;
  readonly operator: boolean;
  readonly roles: Readonly<Record<string, string>>;
  /** Roles in projects, by account and project. */
  readonly project_roles: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly client_address: string;
  /** Absent in the token of a session. */
  readonly management_key?: { readonly id: string; readonly name: string; readonly scopes: readonly string[] };
}

interface Verified {
  readonly actor: Actor;
  readonly kid: string;
  readonly caller: string;
  readonly expiresAtMs: number;
}

/**
 * Verifies tokens with the keys that it was last given. Checking a signature costs a tenth of a millisecond and one token accompanies
 * many calls, so recent results are cached.
 */
export class ActorVerifier {
  private readonly keys = new Map<string, Promise<CryptoKey>>();
  /** Calls that wait for the first keys. */
  private readonly waiting = new Set<() => void>();
  private readonly verified = new Map<string, Verified>();

  constructor(private readonly clock: Clock) {}

  /** Replaces the keys; tokens signed with a key that is no longer among them are rejected from now on. */
  setKeys(keys: readonly ActorKey[]): void {
    const wanted = new Map(keys.map((key) => [key.kid, key]));
    for (const kid of this.keys.keys()) if (!wanted.has(kid)) this.keys.delete(kid);
    for (const key of wanted.values()) if (!this.keys.has(key.kid)) this.keys.set(key.kid, imported(key));
    for (const resume of this.waiting) resume();
  }

  /** Waits until there are keys, at most this long: a process that has just started may serve a call before auth has sent them. */
  async keysOrTimeout(timeoutMs: number): Promise<void> {
    if (this.hasKeys()) return;
    await new Promise<void>((resolve) => {
      const resume = (): void => {
        clearTimeout(timer);
        this.waiting.delete(resume);
        resolve();
      };
      const timer = setTimeout(resume, timeoutMs).unref();
      this.waiting.add(resume);
    });
  }

  /** Reports whether any token can be verified. */
  hasKeys(): boolean {
    return this.keys.size > 0;
  }

  /** Returns the user in the token; a promise only when the signature must be checked. Raises actor_refused. */
  verify(token: string, caller: string): Actor | Promise<Actor> {
    const known = this.verified.get(token);
    if (known === undefined) return this.check(token, caller);
    if (known.expiresAtMs <= this.clock.nowMs() || known.caller !== caller || !this.keys.has(known.kid)) {
      this.verified.delete(token);
      return this.check(token, caller);
    }
    return known.actor;
  }

  private async check(token: string, caller: string): Promise<Actor> {
    if (token.length > tokenCharsMax) throw refused();
    let claims: ActorClaims;
    let kid: string;
    try {
      kid = decodeProtectedHeader(token).kid ?? '';
      const key = await this.keys.get(kid);
      if (key === undefined) throw refused();
      const { issuer, audience, typ, algorithm } = actorTokenRules;
      const { payload } = await jwtVerify<ActorClaims>(token, key, {
        issuer,
        audience,
        typ,
        algorithms: [algorithm],
        requiredClaims: ['sub', 'azp', 'exp', 'iat', 'jti', 'sid', 'email', 'operator', 'roles', 'project_roles', 'client_address'],
        maxTokenAge: actorTokenSecondsMax,
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(this.clock.nowMs()),
      });
      claims = payload;
    } catch {
      // Reporting which check failed would only help an attacker; auth logs which tokens it signed.
      throw refused();
    }
    // Only the caller that auth issued the token to can use it.
    if (claims['azp'] !== caller) throw refused();
    const { management_key: key } = claims;
    const actor: Actor = {
      userId: claims.sub!,
      sessionId: claims.sid,
      email: claims.email,
      isOperator: claims.operator === true,
      roles: new Map(Object.entries(claims.roles)),
      projectRoles: new Map(Object.entries(claims.project_roles).map(([id, roles]) => [id, new Map(Object.entries(roles))])),
      clientAddress: claims.client_address,
      managementKey: key === undefined ? undefined : { ...key, scopes: new Set(key.scopes) },
    };
    if (this.verified.size >= verifiedMax) this.verified.delete(this.verified.keys().next().value!);
    this.verified.set(token, { actor, kid, caller, expiresAtMs: (claims.exp! + clockToleranceSeconds) * 1000 });
    return actor;
  }
}

function refused(): AppError {
  return new AppError('actor_refused', 'The token of the acting user is not valid, or has expired; sign in again.');
}

function imported({ publicKey }: ActorKey): Promise<CryptoKey> {
  const key = importJWK(
    { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url') },
    actorTokenRules.algorithm,
  ) as Promise<CryptoKey>;
  // The call that needs the key gets the error.
  key.catch(() => undefined);
  return key;
}
