// CreateSignInLink: creates a link that begins a session once.
import { idToBytes, newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { CreateSignInLinkRequest, CreateSignInLinkResponse } from '#proto/auth/v1/users.js';
import { found } from '../../requests/found.js';
import type { UserDeps } from '../deps.js';
import { checkedEmail } from '../fields.js';
import { signInMail } from '../mail/mail-templates.js';
import { mintToken } from '../token.js';

/** Raises invalid_request and not_found. */
export async function createSignInLink(
  request: CreateSignInLinkRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<CreateSignInLinkResponse> {
  const { audit, db, users, sessions, mails, notifier, lifetimes, clock, log } = deps;
  const { user } = found(await users.findByEmail(checkedEmail(request.email)), 'user');
  const { token, hash } = mintToken();
  const expiresAtMs = clock.nowMs() + lifetimes.linkMs;
  const page = mails.address('/link');
  const userId = idToBytes('user', user.id)!;
  const mail = await db.transaction(async (tx) => {
    // The link is mailed to this address, and must not outlast a change of it that has ended the earlier links meanwhile.
    const present = await users.lock(tx, userId);
    found(present?.user.email === user.email ? present : undefined, 'user');
    await sessions.addLink(tx, userId, hash, expiresAtMs);
    const composed =
      !request.sendMail || page === undefined
        ? undefined
        : await mails.compose(tx, {
            id: newId('ntf', clock.nowMs()),
            kind: 'link',
            subject: hash.toString('hex'),
            to: user.email,
            content: signInMail({ name: user.name, link: `${page}#${token}`, expiresAtMs }, request.language),
            budgets: new Map(),
          });
    if (composed !== undefined) await notifier.add(tx, composed);
    await audit.append(tx, context, { action: 'user.link', targetId: user.id, detail: { email: user.email } });
    return composed;
  });
  log.info({ user_id: user.id }, 'sign-in link created');
  return { token, expiresAtMs: BigInt(expiresAtMs), ...(await mails.stateOf(mail)) };
}
