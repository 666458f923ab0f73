// Checks the proof of a second factor, with limited attempts.
import type { Knex } from 'knex';
import { fault } from '#client/errors/fault.js';
import { idToBytes } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import { SecondFactorKind, type SecondFactorProof, type User } from '#proto/auth/v1/users.js';
import { provenActor } from '../audit/audit-details.js';
import { lockProven, signInRefused } from '../begin-session.js';
import type { UserDeps } from '../deps.js';
import { checkFactor } from '../passwords/throttle.js';
import type { StoredUser } from '../store/users.js';
import { type OpenChallenge, passwordMark } from './challenges.js';
import { mailSecurityEvent } from '../mail/mail-security-event.js';
import { credentialHash } from './passkeys.js';
import { hashRecoveryCode } from './recovery-codes.js';
import type { StoredFactor } from './store.js';
import { stepOfCode } from './totp.js';

/**
 * Returns the user and the challenge that the proof answers, which is then used up. `sessionId`: the session that authenticates again; undefined for a
 * sign-in. Raises sign_in_refused, sign_in_throttled, and failed_precondition for a passkey where none can be used.
 */
export async function proveSecondFactor(
  request: SecondFactorProof | undefined,
  sessionId: string | undefined,
  address: string,
  context: CallContext,
  deps: UserDeps,
): Promise<{ proven: StoredUser; challenge: OpenChallenge }> {
  const { challengeToken, proof, language = '' } = request ?? {};
  const challenge = deps.challenges.open(challengeToken ?? '');
  if (challenge.sessionId !== sessionId) throw fault('challenge_ended', {});
  const userId = challenge.userId ?? (await userOfPasskey(proof, deps));
  const stored = userId === undefined ? undefined : await deps.users.find(idToBytes('user', userId)!);
  if (stored === undefined) throw signInRefused();
  // A new password ends what began with the former one.
  if (challenge.userId !== undefined && challenge.password !== passwordMark(stored.password)) throw fault('challenge_ended', {});
  const { user } = stored;
  const isProven = await checkFactor(
    { userId: user.id, address },
    async () => {
      const use = await useOf({ proof, challenge, challengeToken: challengeToken!, user, address, context }, deps);
      if (use === undefined) return false;
      // In one transaction, so that a refused sign-in does not use up a code.
      return deps.db.transaction(async (tx) => {
        await lockProven(tx, stored, deps);
        if (!(await use(tx))) return false;
        await deps.challenges.use(tx, challengeToken!, challenge);
        return true;
      });
    },
    deps,
  );
  if (!isProven) throw fault('factor_refused', {});
  if (proof?.$case === 'recoveryCode') await mailAboutCode(user, language, deps);
  return { proven: stored, challenge };
}

async function userOfPasskey(proof: SecondFactorProof['proof'], { factors, passkeys }: UserDeps): Promise<string | undefined> {
  const credentialId = proof?.$case === 'passkeyResponseJson' ? passkeys.credentialIdOf(proof.value) : undefined;
  return credentialId === undefined ? undefined : (await factors.findByCredential(credentialHash(credentialId)))?.userId;
}

/** The function that uses up a proof. It returns false if the proof was used before. */
type Use = (tx: Knex.Transaction) => Promise<boolean>;

/** An attempt to answer a challenge. */
interface Attempt {
  readonly proof: SecondFactorProof['proof'];
  readonly challenge: OpenChallenge;
  readonly challengeToken: string;
  readonly user: User;
  /** The network address of the client. */
  readonly address: string;
  readonly context: CallContext;
}

/** Returns the function that uses up the proof; undefined if it is wrong. */
async function useOf(attempt: Attempt, deps: UserDeps): Promise<Use | undefined> {
  const { proof, challenge, user, address, context } = attempt;
  if (proof?.$case === 'passkeyResponseJson') return useOfPasskey(proof.value, attempt, deps);
  // A challenge without a user is for a passkey alone.
  if (challenge.userId === undefined || proof === undefined) return undefined;
  return proof.$case === 'totpCode'
    ? useOfCode(proof.value, user.id, deps)
    : (tx) => takeRecoveryCode(tx, proof.value, user, address, context, deps);
}

async function useOfCode(code: string, userId: string, { factors, challenges, clock }: UserDeps): Promise<Use | undefined> {
  const nowMs = clock.nowMs();
  for (const stored of await factors.list(idToBytes('user', userId)!)) {
    if (stored.factor.kind !== SecondFactorKind.SECOND_FACTOR_KIND_TOTP) continue;
    const secret = challenges.dataOf(stored);
    const step = secret === undefined ? undefined : stepOfCode(secret, code, nowMs);
    // Each code is accepted once (RFC 6238, section 5.2).
    return step !== undefined && step > stored.counter ? (tx) => factors.noteUse(tx, stored, step, nowMs) : undefined;
  }
  return undefined;
}

async function useOfPasskey(responseJson: string, attempt: Attempt, deps: UserDeps): Promise<Use | undefined> {
  const { challenge, user } = attempt;
  const { factors, challenges, passkeys, clock } = deps;
  const credentialId = passkeys.credentialIdOf(responseJson);
  const stored = credentialId === undefined ? undefined : await factors.findByCredential(credentialHash(credentialId));
  const data = stored?.userId === user.id ? challenges.passkeyOf(stored) : undefined;
  if (stored === undefined || data === undefined || challenge.passkeyChallenge === '') return undefined;
  const used = await passkeys.used(responseJson, challenge.passkeyChallenge, data, stored.counter, challenge.userId === undefined);
  if (used === undefined) return undefined;
  if (!used.isCopied) return (tx) => factors.noteUse(tx, stored, used.counter, clock.nowMs());
  await reportCopy(stored, used.counter, attempt, deps);
  return undefined;
}

/** Records that a copy of a passkey may have been used. Uses up the challenge, and raises sign_in_refused for a challenge that was already used. */
async function reportCopy(
  { factor, counter: formerCounter }: StoredFactor,
  counter: number,
  { challenge, challengeToken, user, address, context }: Attempt,
  { audit, challenges, db, log }: UserDeps,
): Promise<void> {
  const detail = { email: user.email, name: factor.name, counter, former_counter: formerCounter };
  const actor = provenActor(user, { address, userAgent: '' });
  await db.transaction(async (tx) => {
    await challenges.use(tx, challengeToken, challenge);
    await audit.append(tx, context, { action: 'profile.copied_passkey', targetId: factor.id, detail, actor });
  });
  log.warn({ user_id: user.id, factor_id: factor.id, client_address: address }, 'a passkey was rejected: its counter has not increased');
}

async function takeRecoveryCode(
  tx: Knex.Transaction,
  code: string,
  user: User,
  address: string,
  context: CallContext,
  { audit, factors }: UserDeps,
): Promise<boolean> {
  if (!(await factors.takeCode(tx, idToBytes('user', user.id)!, hashRecoveryCode(code)))) return false;
  const actor = provenActor(user, { address, userAgent: '' });
  await audit.append(tx, context, { action: 'profile.recovery_code', targetId: user.id, detail: { email: user.email }, actor });
  return true;
}

async function mailAboutCode(user: User, language: string, deps: UserDeps): Promise<void> {
  const left = await deps.factors.codesLeft(idToBytes('user', user.id)!);
  await deps.db.transaction((tx) => mailSecurityEvent(tx, user, { event: 'recovery_code', left }, language, deps));
}
