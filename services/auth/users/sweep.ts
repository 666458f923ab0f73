// Removes expired sessions, links, invitations, and windows of failures and of mails.
import type { UserDeps } from './deps.js';

const intervalMs = 10 * 60_000;

/** Sweeps every ten minutes; returns a function that stops it. */
export function startSweeping({ sessions, failures, members, resets, mailBudget, factors, clock, log }: UserDeps): () => void {
  async function sweep(): Promise<void> {
    const nowMs = clock.nowMs();
    await sessions.sweep(nowMs);
    await failures.sweep(nowMs);
    await members.sweep(nowMs);
    await resets.sweep(nowMs);
    await mailBudget.sweep(nowMs);
    await factors.sweep(nowMs);
  }
  const timer = setInterval(
    () => void sweep().catch((error: unknown) => log.warn({ err: error }, 'expired sessions, links and invitations could not be removed')),
    intervalMs,
  ).unref();
  return () => clearInterval(timer);
}
