// RequestPasswordReset: mails a link to a user who has forgotten their password.
import { idToBytes, newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { RequestPasswordResetRequest, RequestPasswordResetResponse } from '#proto/auth/v1/users.js';
import type { UserDeps } from '../deps.js';
import { checkedClient, checkedEmail } from '../fields.js';
import { resetMail } from '../mail/mail-templates.js';
import { addressScope, attemptsMax, takeAttempt } from '../passwords/throttle.js';
import { mintToken } from '../token.js';

/** How long a link can be used, in milliseconds. */
export const resetLifeMs = 3_600_000;
/** Most links that are mailed to one user within an hour. */
export const resetsPerHourMax = 3;

/** Raises invalid_request and sign_in_throttled. The rest runs after the response, so that neither the response nor its timing shows whether the address is known. */
export async function requestPasswordReset(
  request: RequestPasswordResetRequest,
  _context: CallContext,
  deps: UserDeps,
): Promise<RequestPasswordResetResponse> {
  const email = checkedEmail(request.email);
  const scope = addressScope('password-reset', checkedClient(request.client).address);
  await takeAttempt(scope, attemptsMax.passwordReset, deps);
  deps.mails.inBackground(() => mailReset(email, request.language, deps));
  return {};
}

async function mailReset(email: string, language: string, { db, users, resets, mails, notifier, clock, log }: UserDeps): Promise<void> {
  const page = mails.address('/reset');
  const user = (await users.findByEmail(email))?.user;
  if (page === undefined || user === undefined || user.isDisabled) return;
  const { token, hash } = mintToken();
  const expiresAtMs = clock.nowMs() + resetLifeMs;
  const isSent = await db.transaction(async (tx) => {
    const mail = await mails.compose(tx, {
      id: newId('ntf', clock.nowMs()),
      kind: 'reset',
      subject: hash.toString('hex'),
      to: email,
      content: resetMail({ name: user.name, link: `${page}#${token}`, expiresAtMs }, language),
      budgets: new Map([[`user ${user.id}`, resetsPerHourMax]]),
    });
    if (mail.refusal !== undefined) return false;
    await resets.add(tx, hash, idToBytes('user', user.id)!, email, expiresAtMs);
    await notifier.add(tx, mail);
    return true;
  });
  if (isSent) log.info({ user_id: user.id }, 'password reset requested');
}
