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
  const userId = await deps.sessions.takeLink(hashToken(request.token), deps.clock.nowMs());
  const stored = userId === undefined ? undefined : await deps.users.find(userId);
  if (stored === undefined) throw signInRefused();
  return beginSessionOrChallenge(stored.user, checkedClient(request.client), SignInMethod.SIGN_IN_METHOD_LINK, context, deps);
}
