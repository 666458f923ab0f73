// Whether the user of a session has authenticated recently enough to change how they sign in, so that a passer-by cannot do so at an unattended screen.
import { fault } from '#client/errors/fault.js';
import type { Clock } from '#kit/clock.js';
import type { Session } from '#proto/auth/v1/users.js';

/** How long after an authentication a user can change how they sign in without another proof, in milliseconds. */
export const recentMs = 15 * 60_000;

/** Raises failed_precondition with the rule `reauthenticate`. */
export function assertRecentlyAuthenticated({ authenticatedAtMs }: Session, clock: Clock): void {
  if (BigInt(clock.nowMs()) - authenticatedAtMs > BigInt(recentMs)) throw fault('reauthenticate', {});
}
