// Checkpoint: records what an open hold has cost so far and renews its expiry. Pure.
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { least } from '../books/buckets.js';
import { type Applied, type CheckpointOperation, done, type Touched } from '../books/model.js';

/** Applies a checkpoint. Neither the cost nor the expiry ever goes back, so late and repeated checkpoints do no harm. No money moves. */
export function applyCheckpoint(touched: Touched, operation: CheckpointOperation, nowMs: number): Applied<{ renewed: boolean }> {
  const { hold } = touched;
  if (hold?.state !== HoldState.HOLD_STATE_OPEN) return done({ renewed: false });
  const costNanoUsd = least(operation.costSoFarNanoUsd, hold.amountNanoUsd);
  return done(
    { renewed: true },
    {
      hold: {
        ...hold,
        checkpointNanoUsd: costNanoUsd > hold.checkpointNanoUsd ? costNanoUsd : hold.checkpointNanoUsd,
        expiresAtMs: Math.max(hold.expiresAtMs, nowMs + operation.ttlMs),
      },
    },
  );
}
