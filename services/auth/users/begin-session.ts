// Begins a session of a user who has proven their identity.
import type { Knex } from 'knex';
import { fault } from '#client/errors/fault.js';
import type { AppError } from '#client/errors/app-error.js';
import { idToBytes, newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import {
  type Client,
  type Membership,
  type SecondFactorChallenge,
  type Session,
  type SignedIn,
  SignInMethod,
  type User,
} from '#proto/auth/v1/users.js';
import type { Account } from '#proto/auth/v1/auth.js';
import type { UserDeps } from './deps.js';
import type { StoredUser } from './store/users.js';
import { mintToken } from './token.js';

/** Begins a session, or returns a challenge for a user with a second factor. Raises sign_in_refused like `beginSession`. */
export async function beginSessionOrChallenge(
  proven: StoredUser,
  client: Client,
  method: SignInMethod,
  context: CallContext,
  deps: UserDeps,
): Promise<{ signedIn: SignedIn | undefined; challenge: SecondFactorChallenge | undefined }> {
  if (proven.user.isDisabled) throw signInRefused();
  if (proven.user.hasSecondFactor) return { signedIn: undefined, challenge: await deps.challenges.ofUser(proven, { method }) };
  return { signedIn: await beginSession(proven, client, method, context, deps), challenge: undefined };
}

/**
 * Creates a session and its tokens for a user as they were when they proved their identity. `present`: the session of the user that it continues; it
 * ends no later, and the user has not authenticated again. `authenticatedAtMs`: when another party authenticated the user; by default, now. Raises
 * sign_in_refused if the user is disabled, if the present session has ended since, or if all sessions have ended because the user has a new password
 * or a second factor.
 */
export async function beginSession(
  proven: StoredUser,
  client: Client,
  method: SignInMethod,
  { caller }: CallContext,
  deps: UserDeps,
  { present, authenticatedAtMs }: { present?: Session | undefined; authenticatedAtMs?: number } = {},
): Promise<SignedIn> {
  const { db, sessions, members, actorTokens, lifetimes, config, clock, log } = deps;
  const nowMs = clock.nowMs();
  const { createdAtMs = BigInt(nowMs) } = present ?? {};
  const { token, hash } = mintToken();
  const session = {
    id: newId('sess', nowMs),
    userId: proven.user.id,
    createdAtMs,
    lastUsedAtMs: BigInt(nowMs),
    expiresAtMs: BigInt(Math.min(nowMs + lifetimes.sessionIdleMs, Number(createdAtMs) + lifetimes.sessionMs)),
    client,
    method,
    authenticatedAtMs: present?.authenticatedAtMs ?? BigInt(authenticatedAtMs ?? nowMs),
  };
  const user = await db.transaction(async (tx) => {
    const locked = await lockProven(tx, proven, deps, present);
    await sessions.add(tx, session, hash);
    return locked;
  });
  log.info({ session_id: session.id, user_id: user.id, method: SignInMethod[method], client_address: client.address }, 'signed in');
  const memberships = await members.ofUser(idToBytes('user', user.id)!);
  const rights = rightsIn(session, user, memberships, config);
  const actorToken = await actorTokens.sign({ ...rights, sessionId: session.id, accountId: '', clientAddress: client.address, caller });
  return { token, session, user, actorToken };
}

/**
 * Locks a user who has proven their identity, in their `present` session if there is one, and returns them as they are now. Raises sign_in_refused like
 * `beginSession`.
 */
export async function lockProven(
  tx: Knex.Transaction,
  proven: StoredUser,
  { users, sessions, clock }: Pick<UserDeps, 'users' | 'sessions' | 'clock'>,
  present?: Session,
): Promise<User> {
  const stored = await users.lock(tx, idToBytes('user', proven.user.id)!);
  if (stored === undefined || stored.user.isDisabled) throw signInRefused();
  if (stored.password !== proven.password || (stored.user.hasSecondFactor && !proven.user.hasSecondFactor)) throw signInRefused();
  const isOpen = present === undefined || (await sessions.find(idToBytes('sess', present.id)!, clock.nowMs(), tx)) !== undefined;
  if (!isOpen) throw signInRefused();
  return stored.user;
}

/**
 * Returns the user and memberships with which a session acts: none while a second factor that the installation requires is missing, and not those of
 * accounts that require one, so that the user must set one up first.
 */
export function rightsIn(
  session: Session,
  user: User,
  memberships: readonly Membership[],
  { requireSecondFactor }: UserDeps['config'],
): { user: User; memberships: readonly Membership[]; isFactorMissing: boolean; factorAccounts: readonly Account[] } {
  const isRequired = requireSecondFactor === 'everyone' || (requireSecondFactor === 'operators' && user.isOperator);
  // The identity provider is responsible for the second factors of its users.
  const hasNone = !user.hasSecondFactor && session.method !== SignInMethod.SIGN_IN_METHOD_IDENTITY;
  if (isRequired && hasNone) return { user: { ...user, isOperator: false }, memberships: [], isFactorMissing: true, factorAccounts: [] };
  const isOpen = ({ account }: Membership): boolean => !hasNone || account?.requireSecondFactor !== true;
  return {
    user,
    memberships: memberships.filter(isOpen),
    isFactorMissing: false,
    factorAccounts: memberships.flatMap((each) => (isOpen(each) ? [] : each.account!)),
  };
}

/** Returns the same error for every failed proof of identity. */
export function signInRefused(): AppError {
  return fault('sign_in_refused', {});
}
