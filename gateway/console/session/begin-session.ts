// Begins a session in a browser, in place of the one that it has.
import type { Context } from 'koa';
import type { CallContext } from '#client/call-context.js';
import { RevokeSessionsRequest, type SignedIn } from '#proto/auth/v1/users.js';
import type { OperationDeps } from '../deps.js';
import type { Patience } from './call-contexts.js';
import { asVisitor, plainTokenOf, setSession, tokenOf, visitorIf } from './session.js';

/**
 * Sets the cookie of a new session and ends the sessions of the previous cookies, which the browser could otherwise no longer end. The sign-in succeeds
 * even if they cannot be ended: the user still finds them in the list of their sessions.
 */
export async function beginSession(
  { ctx, context }: { readonly ctx: Context; context(patience?: Patience): CallContext },
  { token }: SignedIn,
  deps: OperationDeps,
): Promise<void> {
  setSession(ctx, token);
  for (const readToken of [plainTokenOf, tokenOf]) {
    try {
      const previous = await visitorIf(ctx, deps, readToken);
      if (previous === undefined) continue;
      const request = RevokeSessionsRequest.fromPartial({ userId: previous.user.id, sessionId: previous.session.id });
      await asVisitor(ctx, () => deps.peers.users.revokeSessions(request, context('patient')));
    } catch (error) {
      deps.log.warn({ err: error }, 'the previous session of a browser could not be ended');
    }
  }
}
