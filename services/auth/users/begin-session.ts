// Begins a session of a user who has proven their identity.
import { fault } from '#client/errors/fault.js';
import type { AppError } from '#client/errors/app-error.js';
import { idToBytes, newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { Client, SignedIn, User } from '#proto/auth/v1/users.js';
import type { UserDeps } from './deps.js';
import { mintToken } from './token.js';

/** Creates a session and its tokens. Raises sign_in_refused for a disabled user. */
export async function beginSession(
  user: User,
  client: Client,
  byLink: boolean,
  { caller }: CallContext,
  { sessions, members, actorTokens, lifetimes, clock, log }: UserDeps,
): Promise<SignedIn> {
  if (user.isDisabled) throw signInRefused();
  const nowMs = clock.nowMs();
  const { token, hash } = mintToken();
  const session = {
    id: newId('sess', nowMs),
    userId: user.id,
    createdAtMs: BigInt(nowMs),
    lastUsedAtMs: BigInt(nowMs),
    expiresAtMs: BigInt(nowMs + Math.min(lifetimes.sessionIdleMs, lifetimes.sessionMs)),
    client,
    signedInWithLink: byLink,
  };
  await sessions.add(session, hash);
  log.info({ session_id: session.id, user_id: user.id, by_link: byLink }, 'signed in');
  const memberships = await members.ofUser(idToBytes('user', user.id)!);
  const actorToken = await actorTokens.sign({
    user,
    sessionId: session.id,
    memberships,
    accountId: '',
    clientAddress: client.address,
    caller,
  });
  return { token, session, user, actorToken };
}

/** Returns the same error for every failed proof of identity. */
export function signInRefused(): AppError {
  return fault('sign_in_refused', {});
}
