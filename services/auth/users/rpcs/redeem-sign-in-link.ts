// RedeemSignInLink: begins a session with a link that can be used once.
import type { CallContext } from '#client/call-context.js';
import { type RedeemSignInLinkRequest, type RedeemSignInLinkResponse, SignInMethod } from '#proto/auth/v1/users.js';
import { beginSessionOrChallenge, signInRefused } from '../begin-session.js';
import type { UserDeps } from '../deps.js';
import { checkedClient } from '../fields.js';
import { hashToken } from '../token.js';

/** Raises sign_in_refused. */
export async function redeemSignInLink(
  request: RedeemSignInLinkRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<RedeemSignInLinkResponse> {
  const { db, sessions, users, clock } = deps;
  const stored = await db.transaction(async (tx) => {
    const userId = await sessions.takeLink(tx, hashToken(request.token), clock.nowMs());
    return userId === undefined ? undefined : users.find(userId, tx);
  });
  if (stored === undefined) throw signInRefused();
  return beginSessionOrChallenge(stored, checkedClient(request.client), SignInMethod.SIGN_IN_METHOD_LINK, context, deps);
}
