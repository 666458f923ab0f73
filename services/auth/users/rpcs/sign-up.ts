// SignUp: adds a user with an account that they own.
import { fault, fieldFault } from '#client/errors/fault.js';
import { newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { SignUpRequest, SignUpResponse } from '#proto/auth/v1/users.js';
import { checkedName } from '../../requests/fields.js';
import { provenActor } from '../audit-details.js';
import { beginSession } from '../begin-session.js';
import type { UserDeps } from '../deps.js';
import { checkedClient, checkedEmail, checkedPassword } from '../fields.js';
import { newAccountOf } from '../new-account.js';
import { hashPassword } from '../password.js';
import { unlessDuplicate } from '../store/identities.js';
import { emailTaken } from '../store/users.js';
import { addressScope, attemptsMax, takeAttempt } from '../throttle.js';

/** Raises not_found where sign-up is disabled, invalid_request, already_exists, sign_in_throttled and overloaded. */
export async function signUp(request: SignUpRequest, context: CallContext, deps: UserDeps): Promise<SignUpResponse> {
  const { audit, db, identities, config, clock, log } = deps;
  if (!config.signUp) throw fault('no_sign_up', {}, { details: { what: 'path' } });
  const client = checkedClient(request.client);
  const email = checkedEmail(request.email);
  const name = checkedName(request.name);
  const accountName = checkedAccountName(request.accountName);
  checkedPassword(request.password);
  const scope = addressScope('sign-up', client.address);
  await takeAttempt(scope, attemptsMax.signUp, deps);
  // Hashed whether or not the address is free, so that the response takes equally long.
  const password = await hashPassword(request.password);
  const nowMs = clock.nowMs();
  const user = {
    id: newId('user', nowMs),
    email,
    name,
    isOperator: false,
    isDisabled: false,
    hasPassword: true,
    createdAtMs: BigInt(nowMs),
    emailVerified: false,
  };
  const account = newAccountOf(accountName, nowMs);
  const isAdded = await unlessDuplicate(() =>
    db.transaction(async (tx) => {
      await identities.addWithAccount(tx, { user, password }, account, undefined);
      const actor = provenActor(user, client);
      await audit.append(tx, context, { action: 'account.sign_up', accountId: account.id, targetId: user.id, detail: { email }, actor });
    }),
  );
  if (!isAdded) throw emailTaken();
  log.info({ user_id: user.id, account_id: account.id }, 'signed up');
  return { signedIn: await beginSession(user, client, false, context, deps), account };
}

function checkedAccountName(name: string): string {
  try {
    return checkedName(name);
  } catch {
    throw fieldFault('account_name', 'name', { max: 200 });
  }
}
