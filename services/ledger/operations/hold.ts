// Hold: sets money aside in both the account and the key, or in neither. Pure.
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { accountAvailableNanoUsd, emptyAccount, emptyKey, freeInAllNanoUsd, keyAvailableNanoUsd, least } from '../books/buckets.js';
import {
  type Applied,
  done,
  type HoldOperation,
  type HoldRecord,
  type HoldReply,
  type KeyBucket,
  refused,
  type Touched,
} from '../books/model.js';
import { balanceEmpty, balanceHeld, holdClosed, keyLimitReached, mismatch } from '../books/refusals.js';

/** Grants as much as is free between the minimum and the requested amount, or refuses. See the outcome table in the README. */
export function applyHold(touched: Touched, operation: HoldOperation, nowMs: number): Applied<HoldReply> {
  if (touched.hold !== undefined) return repeat(touched.hold, operation);
  const account = touched.account ?? emptyAccount(operation.accountId);
  const known = touched.key ?? emptyKey(operation.accountId, operation.keyId);
  const key = withNewerLimit(known, operation);
  // The key's row is kept on a refusal too, or a caller with an older limit could still spend. An account that never had
  // money keeps no rows, so that unknown accounts cannot fill the table.
  const learnt = key === known || touched.account === undefined ? {} : { key };

  const neededNanoUsd = operation.minAmountNanoUsd;
  const availableNanoUsd = accountAvailableNanoUsd(account);
  if (availableNanoUsd + account.heldNanoUsd < neededNanoUsd) return refused(balanceEmpty(account, neededNanoUsd), learnt);
  const keyLeftNanoUsd = keyAvailableNanoUsd(key);
  if (key.limitNanoUsd !== undefined && keyLeftNanoUsd !== undefined && keyLeftNanoUsd < neededNanoUsd) {
    return refused(keyLimitReached(key, key.limitNanoUsd, neededNanoUsd), learnt);
  }
  if (availableNanoUsd < neededNanoUsd) return refused(balanceHeld(account, neededNanoUsd), learnt);

  const amountNanoUsd = least(operation.amountNanoUsd, freeInAllNanoUsd(account, key));
  const hold: HoldRecord = {
    id: operation.holdId,
    accountId: operation.accountId,
    keyId: operation.keyId,
    amountNanoUsd,
    checkpointNanoUsd: 0n,
    capturedNanoUsd: 0n,
    shortfallNanoUsd: 0n,
    state: HoldState.HOLD_STATE_OPEN,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + operation.ttlMs,
    fingerprint: operation.fingerprint,
    lastSeq: 0n,
    refundedNanoUsd: 0n,
    chargeSeq: 0n,
  };
  return done(
    { hold, replayed: false },
    {
      account: { ...account, heldNanoUsd: account.heldNanoUsd + amountNanoUsd },
      key: { ...key, heldNanoUsd: key.heldNanoUsd + amountNanoUsd },
      hold,
    },
  );
}

function repeat(hold: HoldRecord, operation: HoldOperation): Applied<HoldReply> {
  if (hold.fingerprint === undefined) return refused(holdClosed(hold.id));
  if (hold.fingerprint !== operation.fingerprint) return refused(mismatch(hold.id));
  if (hold.state === HoldState.HOLD_STATE_RELEASED) return refused(holdClosed(hold.id));
  return done({ hold, replayed: true });
}

function withNewerLimit(key: KeyBucket, operation: HoldOperation): KeyBucket {
  if (operation.limitVersion <= key.limitVersion) return key;
  return { ...key, limitNanoUsd: operation.limitNanoUsd, limitVersion: operation.limitVersion };
}
