// Checks a password, and lets nobody try many: neither for one e-mail address nor from one network address.
import { AppError } from '#kit/errors/app-error.js';
import type { PeopleDeps } from './deps.js';
import { isPassword } from './password.js';
import { scopeHash } from './store/failures.js';

/** The window in which failures are counted, in milliseconds. */
export const failureWindowMs = 15 * 60_000;
/** Failures for one e-mail address, and from one network address, that are let pass in a window. */
export const failuresMax = { email: 5, address: 50 } as const;

/**
 * Whether the password is the stored one (undefined: nobody's). Raises sign_in_throttled, with the wait, when there were too many
 * failures, and overloaded.
 */
export async function checkPassword(who: { email: string; address: string }, password: string, stored: string | undefined, deps: Pick<PeopleDeps, 'failures' | 'clock'>): Promise<boolean> {
  const { failures, clock } = deps;
  const scopes = [
    { scope: scopeHash(`email ${who.email}`), max: failuresMax.email },
    { scope: scopeHash(`address ${who.address}`), max: failuresMax.address },
  ];
  const nowMs = clock.nowMs();
  for (const { scope, max } of scopes) {
    const seen = await failures.count(scope, nowMs);
    if (seen.failures < max) continue;
    const retryAfterMs = seen.endsAtMs - nowMs;
    throw new AppError('sign_in_throttled', `There were too many failed attempts; try again in ${Math.ceil(retryAfterMs / 60_000)} minutes, or sign in by a link.`, { retryAfterMs });
  }
  if (await isPassword(password, stored)) {
    await failures.clear(scopes[0]!.scope);
    return true;
  }
  for (const { scope } of scopes) await failures.add(scope, nowMs);
  return false;
}
