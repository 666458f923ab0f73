// Release and expire: end a hold at the cost of its last checkpoint. Pure.
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { type Applied, done, type ExpireOperation, type HoldRecord, type ReleaseOperation, type Touched } from '../books/model.js';
import { closeHold, unknownHold } from './close-hold.js';

/** Ends an open hold; leaves an ended one unchanged; stores a tombstone for an unknown one, so that the hold is refused when it arrives. */
export function applyRelease(touched: Touched, operation: ReleaseOperation, nowMs: number): Applied<{ hold: HoldRecord | undefined }> {
  const { hold } = touched;
  if (hold === undefined) return done({ hold: undefined }, { hold: unknownHold(operation, HoldState.HOLD_STATE_RELEASED, nowMs) });
  if (hold.keyId === undefined) return done({ hold: undefined });
  if (hold.state !== HoldState.HOLD_STATE_OPEN) return done({ hold });
  return endAtCheckpoint(touched, hold, HoldState.HOLD_STATE_RELEASED, nowMs);
}

/** Ends a hold that is open and whose expiry has passed. Leaves a hold that was renewed or ended meanwhile unchanged. */
export function applyExpire(touched: Touched, operation: ExpireOperation, nowMs: number): Applied<{ hold: HoldRecord | undefined }> {
  const { hold } = touched;
  if (hold?.state !== HoldState.HOLD_STATE_OPEN || hold.expiresAtMs > operation.expiredAtMs) return done({ hold: undefined });
  return endAtCheckpoint(touched, hold, HoldState.HOLD_STATE_EXPIRED, nowMs);
}

function endAtCheckpoint(touched: Touched, hold: HoldRecord, state: HoldState, nowMs: number): Applied<{ hold: HoldRecord | undefined }> {
  const changes = closeHold(touched, hold, { state, captureNanoUsd: hold.checkpointNanoUsd }, nowMs);
  return done({ hold: changes.hold }, changes);
}
