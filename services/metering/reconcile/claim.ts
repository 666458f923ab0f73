// A run that this replica has claimed. The claim is renewed until the state of the run is stored, so that no other replica begins the same run, however
// long it takes.
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { repeat } from '#kit/scheduling/repeat.js';
import { claimRun, type RunState, storeRun } from '../store/reconcile-state.js';

/** Times of a claim. */
export interface ClaimTimes {
  /** A run whose claim was not renewed for this long is taken over, because its replica died. */
  readonly claimMs: number;
  readonly renewMs: number;
}

/** The claim of one run. */
export interface RunClaim {
  /** Stores the state of the run, which ends the claim. Changes nothing when another replica has taken the run over. */
  store(next: RunState): Promise<void>;
}

/** Claims a run; returns undefined when another replica has claimed it since it was read. */
export async function takeRun(
  run: RunState,
  { db, clock }: { readonly db: Database; readonly clock: Clock },
  { claimMs, renewMs }: ClaimTimes,
): Promise<RunClaim | undefined> {
  let held = run;
  const claim = async (): Promise<boolean> => {
    const dueAtMs = clock.nowMs() + claimMs;
    const isClaimed = await claimRun(db, held, dueAtMs);
    if (isClaimed) held = { ...run, dueAtMs };
    return isClaimed;
  };
  if (!(await claim())) return undefined;
  // A failed renewal is covered by the next one; the claim outlasts several failures.
  const stopRenewing = repeat(renewMs, claim, () => undefined);
  return {
    async store(next) {
      await stopRenewing();
      await storeRun(db, next, held.dueAtMs);
    },
  };
}
