// DisconnectIdentity: disconnects an identity from its user.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { DisconnectIdentityRequest, DisconnectIdentityResponse } from '#proto/auth/v1/users.js';
import { found } from '../../requests/found.js';
import type { UserDeps } from '../deps.js';
import { checkedId } from '../../requests/fields.js';

/** Raises invalid_request, not_found, and failed_precondition for the user's only way to sign in. */
export async function disconnectIdentity(
  request: DisconnectIdentityRequest,
  context: CallContext,
  { audit, db, identities, users, log }: UserDeps,
): Promise<DisconnectIdentityResponse> {
  const userId = checkedId('user_id', 'user', request.userId);
  const id = checkedId('identity_id', 'idn', request.identityId);
  const { user } = found(await users.find(userId), 'user');
  await db.transaction(async (tx) => {
    // Of two requests at once for the last two identities, the second finds only one.
    await users.lock(tx, userId);
    const present = await identities.list(userId, tx);
    const { issuer, email } = found(
      present.find((identity) => identity.id === request.identityId),
      'identity',
    );
    if (!user.hasPassword && present.length === 1) throw fault('only_sign_in', {});
    found((await identities.remove(tx, userId, id)) ? true : undefined, 'identity');
    const detail = { user: user.id, issuer, email };
    await audit.append(tx, context, { action: 'profile.disconnect', targetId: request.identityId, detail });
  });
  log.info({ user_id: user.id }, 'identity disconnected');
  return {};
}
