// Challenges: a sealed token holds what the user has proven so far, so that nothing is stored before the second factor is proven.
import type { Knex } from 'knex';
import type { Clock } from '#kit/clock.js';
import { idToBytes } from '#kit/id.js';
import type { SecretBox } from '#kit/secrets/secret-box.js';
import { SecondFactorKind, type SecondFactorChallenge, type SignInMethod } from '#proto/auth/v1/users.js';
import { fault } from '#client/errors/fault.js';
import type { StoredUser } from '../store/users.js';
import { hashToken } from '../token.js';
import type { PasskeyData, Passkeys } from './passkeys.js';
import { factorPurpose, type SecondFactorStore, type StoredFactor } from './store.js';

/** How long a challenge is valid, in milliseconds. */
export const challengeLifeMs = 10 * 60_000;
const purpose = 'sign-in challenge';

/** The purpose of a challenge: a sign-in of a user, a session that authenticates again, or, without a user, a sign-in with a passkey alone. */
export interface ChallengeFor {
  readonly userId?: string;
  /** The mark of the password that the user had. */
  readonly password?: string;
  readonly method: SignInMethod;
  readonly sessionId?: string;
}

/** The content of a token. */
export interface OpenChallenge extends ChallengeFor {
  /** Of the passkey's options; empty if none can be used. */
  readonly passkeyChallenge: string;
  readonly expiresAtMs: number;
}

/** Holds the dependencies of `Challenges`. */
export interface ChallengesDeps {
  readonly store: SecondFactorStore;
  readonly passkeys: Passkeys;
  readonly box: SecretBox;
  readonly clock: Clock;
}

/** Returns a mark that distinguishes a user's hashed passwords without revealing them. */
export function passwordMark(password: string | undefined): string {
  return hashToken(password ?? '').toString('base64');
}

/** Creates and opens challenges. */
export class Challenges {
  constructor(private readonly deps: ChallengesDeps) {}

  /** Returns a challenge that any second factor of the user can answer while they have this password. */
  async ofUser({ user, password }: StoredUser, about: Pick<ChallengeFor, 'method' | 'sessionId'>): Promise<SecondFactorChallenge> {
    const { store, passkeys } = this.deps;
    const userId = idToBytes('user', user.id)!;
    const factors = await store.list(userId);
    const known = factors.flatMap((factor) => this.passkeyOf(factor) ?? []);
    const options = known.length === 0 || passkeys.origin === undefined ? undefined : await passkeys.requestOptions(known);
    return {
      ...this.sealed({ ...about, userId: user.id, password: passwordMark(password) }, options),
      totp: factors.some(({ factor }) => factor.kind === SecondFactorKind.SECOND_FACTOR_KIND_TOTP),
      recoveryCodes: (await store.codesLeft(userId)) > 0,
    };
  }

  /** Returns a challenge that a passkey of any user can answer. Raises failed_precondition where passkeys cannot be used. */
  async ofAnyPasskey(method: SignInMethod): Promise<SecondFactorChallenge> {
    return { ...this.sealed({ method }, await this.deps.passkeys.requestOptions([])), totp: false, recoveryCodes: false };
  }

  /** Returns the content of a token. Raises sign_in_refused if it has expired or was not created here. */
  open(token: string): OpenChallenge {
    const { box, clock } = this.deps;
    const text = box.open(token, purpose);
    const challenge = text === undefined ? undefined : (JSON.parse(text) as OpenChallenge);
    if (challenge === undefined || challenge.expiresAtMs <= clock.nowMs()) throw fault('challenge_ended', {});
    return challenge;
  }

  /** Uses up a token. Raises sign_in_refused if it was used before. */
  async use(tx: Knex.Transaction, token: string, { expiresAtMs }: OpenChallenge): Promise<void> {
    if (!(await this.deps.store.takeChallenge(tx, hashToken(token), expiresAtMs))) throw fault('challenge_ended', {});
  }

  /** Returns the data of a passkey; undefined for an authenticator app, or if the key that sealed them is lost. */
  passkeyOf(stored: StoredFactor): PasskeyData | undefined {
    if (stored.factor.kind !== SecondFactorKind.SECOND_FACTOR_KIND_PASSKEY) return undefined;
    const text = this.dataOf(stored);
    return text === undefined ? undefined : (JSON.parse(text) as PasskeyData);
  }

  /** Returns the data of a factor; undefined if the key that sealed them is lost. */
  dataOf(stored: StoredFactor): string | undefined {
    return this.deps.box.open(stored.sealedData, factorPurpose(stored));
  }

  private sealed(
    about: ChallengeFor,
    options: { json: string; challenge: string } | undefined,
  ): Pick<SecondFactorChallenge, 'token' | 'expiresAtMs' | 'passkeyOptionsJson'> {
    const { box, clock } = this.deps;
    const expiresAtMs = clock.nowMs() + challengeLifeMs;
    const content: OpenChallenge = { ...about, passkeyChallenge: options?.challenge ?? '', expiresAtMs };
    return {
      token: box.seal(JSON.stringify(content), purpose),
      expiresAtMs: BigInt(expiresAtMs),
      passkeyOptionsJson: options?.json ?? '',
    };
  }
}
