// Checks a password and limits attempts, per email address and per network address.
import { fault } from '#client/errors/fault.js';
import type { UserDeps } from './deps.js';
import { networkOf } from './network.js';
import { isPassword } from './password.js';
import { scopeHash } from './store/failures.js';

/** The window in which failures are counted, in milliseconds. */
export const failureWindowMs = 15 * 60_000;
/** Failures in a window after which attempts are rejected, per email address and per network address. */
export const failuresMax = { email: 5, address: 50 } as const;

/** Attempts allowed in a window: sign-ups and password resets per network address, and changes of one user to addresses of other users. */
export const attemptsMax = { signUp: 10, passwordReset: 10, takenEmail: 10 } as const;

/** Returns the scope under which attempts from a network address are counted. */
export function addressScope(what: string, address: string): string {
  return `${what} ${networkOf(address)}`;
}

/** Raises sign_in_throttled, with the wait, when the scope such as "sign-up 192.0.2.1" has used up its attempts. */
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

/** Counts an attempt in the scope. */
export async function noteAttempt(scope: string, { failures, clock }: Pick<UserDeps, 'failures' | 'clock'>): Promise<void> {
  await failures.add(scopeHash(scope), clock.nowMs());
}

/**
 * Reports whether the password matches the stored one; undefined matches none. Raises sign_in_throttled, with the wait, when there were
 * too many failures, and overloaded.
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
