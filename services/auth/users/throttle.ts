// Checks a password, and limits attempts: both for one email address and from one network address.
import { fault } from '#client/errors/fault.js';
import type { UserDeps } from './deps.js';
import { networkOf } from './network.js';
import { isPassword } from './password.js';
import { scopeHash } from './store/failures.js';

/** The window in which failures are counted, in milliseconds. */
export const failureWindowMs = 15 * 60_000;
/** Failures for one e-mail address, and from one network address, that are let pass in a window. */
export const failuresMax = { email: 5, address: 50 } as const;

/** Sign-ups and forgotten passwords from one network address, and addresses of others that one person asks for, in a window. */
export const attemptsMax = { signUp: 10, passwordReset: 10, takenEmail: 10 } as const;

/** The scope of a network address. */
export function addressScope(what: string, address: string): string {
  return `${what} ${networkOf(address)}`;
}

/** Raises sign_in_throttled, with the wait, when the scope such as "sign-up 192.0.2.1" has used its attempts up. */
export async function assertNotThrottled(
  scope: string,
  max: number,
  { failures, clock }: Pick<UserDeps, 'failures' | 'clock'>,
): Promise<void> {
  const nowMs = clock.nowMs();
  const seen = await failures.count(scopeHash(scope), nowMs);
  if (seen.failures < max) return;
  const retryAfterMs = seen.endsAtMs - nowMs;
  throw fault('attempts_throttled', { minutes: Math.ceil(retryAfterMs / 60_000) }, { retryAfterMs });
}

/** Counts an attempt of the scope. */
export async function noteAttempt(scope: string, { failures, clock }: Pick<UserDeps, 'failures' | 'clock'>): Promise<void> {
  await failures.add(scopeHash(scope), clock.nowMs());
}

/**
 * Whether the password is the stored one (undefined: nobody's). Raises sign_in_throttled, with the wait, when there were too many
 * failures, and overloaded.
 */
export async function checkPassword(
  who: { email: string; address: string },
  password: string,
  stored: string | undefined,
  deps: Pick<UserDeps, 'failures' | 'clock'>,
): Promise<boolean> {
  const { failures, clock } = deps;
  const scopes = [
    { scope: scopeHash(`email ${who.email}`), max: failuresMax.email },
    { scope: scopeHash(addressScope('address', who.address)), max: failuresMax.address },
  ];
  const nowMs = clock.nowMs();
  for (const { scope, max } of scopes) {
    const seen = await failures.count(scope, nowMs);
    if (seen.failures < max) continue;
    const retryAfterMs = seen.endsAtMs - nowMs;
    throw fault('failures_throttled', { minutes: Math.ceil(retryAfterMs / 60_000) }, { retryAfterMs });
  }
  if (await isPassword(password, stored)) {
    await failures.clear(scopes[0]!.scope);
    return true;
  }
  for (const { scope } of scopes) await failures.add(scope, nowMs);
  return false;
}
