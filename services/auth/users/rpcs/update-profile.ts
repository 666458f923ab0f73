// UpdateProfile: changes the name of the user of a session, and changes their email address or mails the link that does.
import type { Knex } from 'knex';
import { hasReason } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { newId } from '#kit/id.js';
import type { UpdateProfileRequest, UpdateProfileResponse, User } from '#proto/auth/v1/users.js';
import { checkedName } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { checkedUpdateMask } from '#kit/rpc/update-mask.js';
import { sessionActor } from '../audit/audit-details.js';
import type { UserDeps } from '../deps.js';
import { checkedEmail } from '../fields.js';
import { emailChangeMail } from '../mail/mail-templates.js';
import { assertCurrentPassword, lockSession, userOfSession, type SessionUser } from '../passwords/current-password.js';
import { passwordMark } from '../second-factor/challenges.js';
import { mailWindowMs } from '../store/mail-budget.js';
import { emailTaken, type UserChange } from '../store/users.js';
import { attemptsMax, giveAttemptBack, takeAttempt } from '../passwords/throttle.js';
import { type EmailChange, emailChangeLifeMs, emailChangePurpose } from './confirm-email.js';

/** Most links to new addresses that one user can request within an hour. */
export const emailLinksPerHourMax = 3;

/** Raises invalid_request, not_found, already_exists, sign_in_refused for a wrong current password, sign_in_throttled, overloaded and failed_precondition. */
export async function updateProfile(request: UpdateProfileRequest, context: CallContext, deps: UserDeps): Promise<UpdateProfileResponse> {
  const mask = checkedUpdateMask(request.updateMask, ['name', 'email']);
  const name = mask.has('name') ? checkedName(request.name) : undefined;
  const who = await userOfSession(request.sessionId, deps);
  const wanted = mask.has('email') ? checkedEmail(request.email) : undefined;
  if (wanted === undefined || wanted === who.stored.user.email)
    return { user: await changed(who, { name }, context, deps), emailLinkSent: false };
  // Limited, so that a user cannot find out the addresses of others by trying them.
  const scope = `taken ${who.stored.user.id}`;
  await takeAttempt(scope, attemptsMax.takenEmail, deps);
  const page = deps.mails.address('/email');
  let user: User;
  try {
    await assertCurrentPassword(who, request.currentPassword, context, deps);
    user =
      page === undefined
        ? await changed(who, { name, email: wanted, emailVerified: false }, context, deps)
        : await changed(who, { name }, context, deps, (tx) => mailLink(tx, who, { page, email: wanted, language: request.language }, deps));
  } catch (error) {
    if (!hasReason(error, 'already_exists')) await giveAttemptBack(scope, deps);
    throw error;
  }
  await giveAttemptBack(scope, deps);
  deps.log.info({ user_id: user.id }, page === undefined ? 'email address changed by the user' : 'link to a new email address requested');
  return { user, emailLinkSent: page !== undefined };
}

async function changed(
  who: SessionUser,
  change: UserChange,
  context: CallContext,
  deps: UserDeps,
  also: (tx: Knex.Transaction) => Promise<void> = async () => {},
): Promise<User> {
  const { audit, db, sessions, users } = deps;
  return db.transaction(async (tx) => {
    await lockSession(tx, who, deps);
    const { before, after } = found(await users.update(tx, who.userId, change), 'user');
    // An operator may have mailed a link to the former address.
    if (after.email !== before.email) await sessions.endLink(tx, who.userId);
    const detail = {
      ...(after.name === before.name ? {} : { name: after.name }),
      ...(after.email === before.email ? {} : { email: after.email, former_email: before.email }),
    };
    if (Object.keys(detail).length > 0)
      await audit.append(tx, context, { action: 'profile.update', targetId: after.id, detail, actor: sessionActor(who, context) });
    await also(tx);
    return after;
  });
}

/** Mails the link that changes the address. Raises already_exists for an address that another user has, and sign_in_throttled. */
async function mailLink(
  tx: Knex.Transaction,
  { stored }: SessionUser,
  { page, email, language }: { page: string; email: string; language: string },
  { box, clock, mails, notifier, users }: UserDeps,
): Promise<void> {
  if ((await users.findByEmail(email, tx)) !== undefined) throw emailTaken();
  const { user, password } = stored;
  const expiresAtMs = clock.nowMs() + emailChangeLifeMs;
  const change: EmailChange = { userId: user.id, formerEmail: user.email, password: passwordMark(password), email, expiresAtMs };
  const link = `${page}#${box.seal(JSON.stringify(change), emailChangePurpose)}`;
  const mail = await mails.compose(tx, {
    id: newId('ntf', clock.nowMs()),
    kind: 'email',
    subject: String(expiresAtMs),
    to: email,
    content: emailChangeMail({ link, expiresAtMs }, language),
    budgets: new Map([[`user ${user.id}`, emailLinksPerHourMax]]),
  });
  if (mail.refusal !== undefined) throw fault('attempts_throttled', { minutes: mailWindowMs / 60_000 }, { retryAfterMs: mailWindowMs });
  await notifier.add(tx, mail);
}
