// SignUp: adds a user with an account that they own, once the user has shown that the address is theirs, where mail can be sent.
import { fault, fieldFault } from '#client/errors/fault.js';
import { newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import { type Client, SignInMethod, type SignUpRequest, type SignUpResponse } from '#proto/auth/v1/users.js';
import { checkedName } from '../../requests/fields.js';
import { provenActor } from '../audit/audit-details.js';
import { beginSession, signInRefused } from '../begin-session.js';
import type { UserDeps } from '../deps.js';
import { checkedClient, checkedEmail, checkedPassword } from '../fields.js';
import { knownAddressMail, signUpMail } from '../mail/mail-templates.js';
import { newAccountOf } from '../../new-account.js';
import { newUserOf } from '../new-user.js';
import { hashPassword } from '../passwords/password.js';
import { unlessDuplicate } from '../store/identities.js';
import { emailTaken } from '../store/users.js';
import { addressScope, attemptsMax, checkPassword, giveAttemptBack, takeAttempt } from '../passwords/throttle.js';

/** How long a mailed link can be used, in milliseconds. */
export const signUpLifeMs = 24 * 3_600_000;
/** Most mails about sign-ups to one address within an hour. */
const mailsPerHourMax = 3;
const purpose = 'sign-up';

/** The sealed contents of a mailed link: nothing is stored before the link is used. */
interface SignUpData {
  readonly email: string;
  readonly name: string;
  readonly accountName: string;
  /** Hashed. */
  readonly password: string;
  readonly expiresAtMs: number;
}

/** Raises not_found where sign-up is disabled, invalid_request, sign_in_refused for a token that cannot be used or another password, sign_in_throttled, overloaded, and, where no mail can be sent, already_exists. */
export async function signUp(request: SignUpRequest, context: CallContext, deps: UserDeps): Promise<SignUpResponse> {
  const { config, clock, mails } = deps;
  if (!config.signUp) throw fault('no_sign_up', {}, { details: { what: 'path' } });
  const client = checkedClient(request.client);
  if (request.token !== '') {
    const data = opened(request.token, deps);
    // Anyone can sign up with any address. If the link were enough, its recipient would get a user whose password another client knows.
    const isTheirs = await checkPassword({ email: data.email, address: client.address }, request.password, data.password, deps);
    const signedUp = isTheirs ? await add(data, true, client, context, deps) : undefined;
    if (signedUp === undefined) throw signInRefused();
    return signedUp;
  }
  const email = checkedEmail(request.email);
  const name = checkedName(request.name);
  const accountName = checkedAccountName(request.accountName);
  checkedPassword(request.password);
  const scope = addressScope('sign-up', client.address);
  await takeAttempt(scope, attemptsMax.signUp, deps);
  // Hashed whether or not the address is free, so that the response takes equally long.
  const password = await hashPassword(request.password).catch(async (error: unknown) => {
    await giveAttemptBack(scope, deps);
    throw error;
  });
  const data: SignUpData = { email, name, accountName, password, expiresAtMs: clock.nowMs() + signUpLifeMs };
  const page = mails.address('/sign-up');
  if (page !== undefined) {
    mails.inBackground(() => mailLink(data, page, request.language, deps));
    return { signedIn: undefined, account: undefined };
  }
  const signedUp = await add(data, false, client, context, deps);
  if (signedUp === undefined) throw emailTaken();
  return signedUp;
}

/** Adds the user with their account and begins a session; returns undefined if the address belongs to another user. */
async function add(
  { email, name, accountName, password }: SignUpData,
  emailVerified: boolean,
  client: Client,
  context: CallContext,
  deps: UserDeps,
): Promise<SignUpResponse | undefined> {
  const { audit, db, identities, clock, log } = deps;
  const nowMs = clock.nowMs();
  const user = newUserOf({ email, name, hasPassword: true, emailVerified }, nowMs);
  const account = newAccountOf(accountName, nowMs);
  const isAdded = await unlessDuplicate(() =>
    db.transaction(async (tx) => {
      await identities.addWithAccount(tx, { user, password }, account, undefined);
      const actor = provenActor(user, client);
      await audit.append(tx, context, { action: 'account.sign_up', accountId: account.id, targetId: user.id, detail: { email }, actor });
    }),
  );
  if (!isAdded) return undefined;
  log.info({ user_id: user.id, account_id: account.id }, 'signed up');
  return { signedIn: await beginSession({ user, password }, client, SignInMethod.SIGN_IN_METHOD_PASSWORD, context, deps), account };
}

/** Mails the link, or, to the user of a known address, that they have an account. */
async function mailLink(
  data: SignUpData,
  page: string,
  language: string,
  { box, db, users, mails, notifier, clock, log }: UserDeps,
): Promise<void> {
  const { email, expiresAtMs } = data;
  const isKnown = (await users.findByEmail(email)) !== undefined;
  const token = box.seal(JSON.stringify(data), purpose);
  const isSent = await db.transaction(async (tx) => {
    const mail = await mails.compose(tx, {
      id: newId('ntf', clock.nowMs()),
      kind: 'sign-up',
      subject: String(expiresAtMs),
      to: email,
      content: isKnown
        ? knownAddressMail({ signIn: mails.address('/sign-in')!, forgot: mails.address('/forgot')! }, language)
        : signUpMail({ link: `${page}#${token}`, expiresAtMs }, language),
      budgets: new Map([[`sign-up ${email}`, mailsPerHourMax]]),
    });
    if (mail.refusal === undefined) await notifier.add(tx, mail);
    return mail.refusal === undefined;
  });
  if (isSent) log.info({ is_known: isKnown }, 'a sign-up was answered by mail');
}

function opened(token: string, { box, clock }: UserDeps): SignUpData {
  const text = box.open(token, purpose);
  const data = text === undefined ? undefined : (JSON.parse(text) as SignUpData);
  if (data === undefined || data.expiresAtMs <= clock.nowMs()) throw signInRefused();
  return data;
}

function checkedAccountName(name: string): string {
  try {
    return checkedName(name);
  } catch {
    throw fieldFault('account_name', 'name', { max: 200 });
  }
}
