// Removes expired sessions, links, invitations, and windows of failures and of mails.
import { repeat } from '#kit/scheduling/repeat.js';
import type { UserDeps } from './deps.js';

const intervalMs = 10 * 60_000;

type SweepDeps = Pick<UserDeps, 'sessions' | 'failures' | 'members' | 'resets' | 'mailBudget' | 'factors' | 'clock'>;

/** Removes what has expired. */
export async function sweep({ sessions, failures, members, resets, mailBudget, factors, clock }: SweepDeps): Promise<void> {
  const nowMs = clock.nowMs();
  for (const store of [sessions, failures, members, resets, mailBudget, factors]) await store.sweep(nowMs);
}

/** Sweeps every ten minutes. Returns a function that stops it after the sweep in progress. */
export function startSweeping(deps: UserDeps): () => Promise<void> {
  return repeat(
    intervalMs,
    () => sweep(deps),
    (error) => deps.log.warn({ err: error }, 'expired sessions, links and invitations could not be removed'),
  );
}
