// Begins a session of a user who has proven their identity.
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
import { mintToken } from './token.js';

/** Begins a session, or returns a challenge for a user with a second factor. Raises sign_in_refused for a disabled user. */
export async function beginSessionOrChallenge(
  user: User,
  client: Client,
  method: SignInMethod,
  context: CallContext,
  deps: UserDeps,
): Promise<{ signedIn: SignedIn | undefined; challenge: SecondFactorChallenge | undefined }> {
  if (user.isDisabled) throw signInRefused();
  if (user.hasSecondFactor) return { signedIn: undefined, challenge: await deps.challenges.ofUser({ userId: user.id, method }) };
  return { signedIn: await beginSession(user, client, method, context, deps), challenge: undefined };
}

/**
 * Creates a session and its tokens. If it continues the `present` session of the user, it ends no later, and the user has not authenticated again.
 * Raises sign_in_refused for a disabled user.
 */
export async function beginSession(
  user: User,
  client: Client,
  method: SignInMethod,
  { caller }: CallContext,
  { sessions, members, actorTokens, lifetimes, config, clock, log }: UserDeps,
  present?: Session,
): Promise<SignedIn> {
  if (user.isDisabled) throw signInRefused();
  const nowMs = clock.nowMs();
  const { createdAtMs = BigInt(nowMs), authenticatedAtMs = BigInt(nowMs) } = present ?? {};
  const { token, hash } = mintToken();
  const session = {
    id: newId('sess', nowMs),
    userId: user.id,
    createdAtMs,
    lastUsedAtMs: BigInt(nowMs),
    expiresAtMs: BigInt(Math.min(nowMs + lifetimes.sessionIdleMs, Number(createdAtMs) + lifetimes.sessionMs)),
    client,
    method,
    authenticatedAtMs,
  };
  await sessions.add(session, hash);
  log.info({ session_id: session.id, user_id: user.id, method: SignInMethod[method] }, 'signed in');
  const memberships = await members.ofUser(idToBytes('user', user.id)!);
  const rights = rightsIn(session, user, memberships, config);
  const actorToken = await actorTokens.sign({ ...rights, sessionId: session.id, accountId: '', clientAddress: client.address, caller });
  return { token, session, user, actorToken };
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
