// CreateSignInLink: creates a link that begins a session once.
import { idToBytes, newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { CreateSignInLinkRequest, CreateSignInLinkResponse, User } from '#proto/auth/v1/users.js';
import { found } from '../../requests/found.js';
import type { UserDeps } from '../deps.js';
import { checkedEmail } from '../fields.js';
import { signInLetter } from '../mail/mail-templates.js';
import { type MailStanding, off } from '../mail/mail-state.js';
import { mintToken } from '../token.js';

/** Raises invalid_request and not_found. */
export async function createSignInLink(
  request: CreateSignInLinkRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<CreateSignInLinkResponse> {
  const { audit, db, users, sessions, lifetimes, clock, log } = deps;
  const { user } = found(await users.findByEmail(checkedEmail(request.email)), 'user');
  const { token, hash } = mintToken();
  const expiresAtMs = clock.nowMs() + lifetimes.linkMs;
  await db.transaction(async (tx) => {
    await sessions.addLink(tx, idToBytes('user', user.id)!, hash, expiresAtMs);
    await audit.append(tx, context, { action: 'user.link', targetId: user.id, detail: { email: user.email } });
  });
  log.info({ user_id: user.id }, 'sign-in link created');
  const { state, words } = request.sendMail ? await mail(user, token, hash, expiresAtMs, deps) : off;
  return { token, expiresAtMs: BigInt(expiresAtMs), mailState: state, mailError: words };
}

async function mail(
  user: User,
  token: string,
  hash: Buffer,
  expiresAtMs: number,
  { sessions, mailSender, clock }: UserDeps,
): Promise<MailStanding> {
  const page = mailSender.address('/link');
  if (page === undefined) return off;
  const letter = signInLetter({ name: user.name, link: `${page}#${token}`, expiresAtMs });
  return mailSender.send({
    kind: 'link',
    id: newId('mail', clock.nowMs()),
    to: user.email,
    letter,
    budgets: new Map(),
    isWanted: () => sessions.hasLink(hash, clock.nowMs()),
  });
}
