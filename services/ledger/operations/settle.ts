// Settle: ends a hold with the true cost. Pure.
import assert from 'node:assert/strict';
import { AppError } from '#client/errors/app-error.js';
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { emptyAccount, emptyKey, freeInAllNanoUsd, least } from '../books/buckets.js';
import { type Applied, done, type HoldRecord, type HoldReply, refused, type SettleOperation, type Touched } from '../books/model.js';
import { bucketsOfHold } from '../budgets/buckets.js';
import { holdArchived, holdClosed, holdUnknown, mismatch } from '../books/refusals.js';
import { closeHold, reservedNanoUsd, unknownHold } from './close-hold.js';

/** Books the cost in any state of the hold. See the outcome table in the README. */
export function applySettle(touched: Touched, operation: SettleOperation, nowMs: number): Applied<HoldReply> {
  const { hold } = touched;
  if (hold === undefined) return settleLost(touched, operation, nowMs);
  if (hold.keyId !== undefined && operation.keyId !== undefined && hold.keyId !== operation.keyId) {
    return refused(mismatch(hold.id));
  }
  switch (hold.state) {
    case HoldState.HOLD_STATE_OPEN:
    case HoldState.HOLD_STATE_EXPIRED:
      return settle(touched, hold, operation.costNanoUsd, nowMs);
    case HoldState.HOLD_STATE_SETTLED:
      return hold.capturedNanoUsd + hold.shortfallNanoUsd === operation.costNanoUsd
        ? done({ hold, replayed: true })
        : refused(mismatch(hold.id));
    case HoldState.HOLD_STATE_RELEASED:
      return operation.costNanoUsd === 0n && hold.capturedNanoUsd === 0n ? done({ hold, replayed: true }) : refused(holdClosed(hold.id));
    default:
      throw new assert.AssertionError({ message: `A hold has no state ${hold.state}.` });
  }
}

function settle(touched: Touched, hold: HoldRecord, costNanoUsd: bigint, nowMs: number): Applied<HoldReply> {
  assert(hold.keyId !== undefined, 'An open or expired hold has a key.');
  const state = HoldState.HOLD_STATE_SETTLED;
  const dueNanoUsd = costNanoUsd - hold.capturedNanoUsd;
  if (dueNanoUsd < 0n) {
    const changes = closeHold(touched, hold, { state, correctionNanoUsd: -dueNanoUsd }, nowMs);
    return done({ hold: changes.hold, replayed: false }, changes);
  }
  const account = touched.account ?? emptyAccount(hold.accountId);
  const key = touched.key ?? emptyKey(hold.accountId, hold.keyId);
  const fromHoldNanoUsd = least(dueNanoUsd, reservedNanoUsd(hold));
  const fromFreeNanoUsd = least(dueNanoUsd - fromHoldNanoUsd, freeInAllNanoUsd(account, key, bucketsOfHold(hold, touched.budgets)));
  const captureNanoUsd = fromHoldNanoUsd + fromFreeNanoUsd;
  const changes = closeHold(touched, hold, { state, captureNanoUsd, shortfallNanoUsd: dueNanoUsd - captureNanoUsd }, nowMs);
  return done({ hold: changes.hold, replayed: false }, changes);
}

/** Settles a recorded call whose hold the database lost. It is paid from free funds, like an expired hold of zero. */
function settleLost(touched: Touched, operation: SettleOperation, nowMs: number): Applied<HoldReply> {
  if (!operation.isRecorded) return refused(holdUnknown(operation.holdId));
  if (operation.keyId === undefined) {
    const message = `The hold ${operation.holdId} is unknown, so key_id must be set.`;
    return refused(new AppError('invalid_request', message, { details: { field: 'key_id' } }));
  }
  if (touched.archivedUntilMs !== undefined && createdAtMsOf(operation.holdId) < touched.archivedUntilMs)
    return refused(holdArchived(operation.holdId));
  const lost = { ...unknownHold(operation, HoldState.HOLD_STATE_EXPIRED, nowMs), keyId: operation.keyId };
  return settle(touched, lost, operation.costNanoUsd, nowMs);
}

/** Returns when a call id was created: a UUIDv7 begins with its milliseconds (RFC 9562, section 5.7). */
function createdAtMsOf(holdId: string): number {
  return Number.parseInt(holdId.slice(-32, -20), 16);
}
