// GetSession: returns the session of a token, its user, and the user's memberships.
import { fault } from '#client/errors/fault.js';
import { idToBytes } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { GetSessionRequest, GetSessionResponse, Session } from '#proto/auth/v1/users.js';
import { rightsIn } from '../begin-session.js';
import type { UserDeps } from '../deps.js';
import { checkedClient } from '../fields.js';
import { hashToken } from '../token.js';

// To the minute: a write for each request of the console would cost too much. More often where a session lasts for minutes without use, which would
// otherwise end while it is used.
const noteUseEveryMs = (sessionIdleMs: number): number => Math.min(60_000, sessionIdleMs / 10);

/** Raises session_unknown. */
export async function getSession(request: GetSessionRequest, context: CallContext, deps: UserDeps): Promise<GetSessionResponse> {
  const { users, sessions, members, actorTokens, config, clock } = deps;
  const session = await sessions.findByToken(hashToken(request.token), clock.nowMs());
  const userId = session === undefined ? undefined : idToBytes('user', session.userId)!;
  const stored = userId === undefined ? undefined : await users.find(userId);
  if (session === undefined || userId === undefined || stored === undefined || stored.user.isDisabled) {
    throw fault('session_unknown', {});
  }
  const { accountId } = request;
  const { address: clientAddress } = checkedClient({ address: request.clientAddress, userAgent: '' });
  const rights = rightsIn(session, stored.user, await members.ofUser(userId), config);
  const { user, memberships, isFactorMissing, factorAccounts } = rights;
  const actorToken = await actorTokens.sign({ user, sessionId: session.id, memberships, accountId, clientAddress, caller: context.caller });
  return {
    session: await noteUse(session, deps),
    user,
    memberships: [...memberships],
    actorToken,
    secondFactorMissing: isFactorMissing,
    secondFactorAccounts: [...factorAccounts],
  };
}

async function noteUse(session: Session, { sessions, lifetimes, clock }: UserDeps): Promise<Session> {
  const nowMs = clock.nowMs();
  if (nowMs - Number(session.lastUsedAtMs) < noteUseEveryMs(lifetimes.sessionIdleMs)) return session;
  const expiresAtMs = Math.min(nowMs + lifetimes.sessionIdleMs, Number(session.createdAtMs) + lifetimes.sessionMs);
  await sessions.noteUse(idToBytes('sess', session.id)!, nowMs, expiresAtMs);
  return { ...session, lastUsedAtMs: BigInt(nowMs), expiresAtMs: BigInt(expiresAtMs) };
}
