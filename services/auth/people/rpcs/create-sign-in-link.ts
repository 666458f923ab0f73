// CreateSignInLink: a link that begins a session once.
import { idToBytes } from '#kit/id.js';
import type { CallContext } from '#kit/rpc/call-context.js';
import type { CreateSignInLinkRequest, CreateSignInLinkResponse } from '#proto/auth/v1/people.js';
import { found } from '../../requests/found.js';
import type { PeopleDeps } from '../deps.js';
import { checkedEmail } from '../fields.js';
import { mintToken } from '../token.js';

/** Raises invalid_request and not_found. */
export async function createSignInLink(request: CreateSignInLinkRequest, _context: CallContext, deps: PeopleDeps): Promise<CreateSignInLinkResponse> {
  const { people, sessions, lifetimes, clock, log } = deps;
  const { user } = found(await people.findByEmail(checkedEmail(request.email)), 'user');
  const { token, hash } = mintToken();
  const expiresAtMs = clock.nowMs() + lifetimes.linkMs;
  await sessions.addLink(idToBytes('user', user.id)!, hash, expiresAtMs);
  log.info({ user_id: user.id }, 'sign-in link made');
  return { token, expiresAtMs: BigInt(expiresAtMs) };
}
