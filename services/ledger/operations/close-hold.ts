// Ends a hold: frees what it set aside and books its cost. Shared by settle, release and expire. Pure.
import assert from 'node:assert/strict';
import { EntryKind, HoldState } from '#proto/ledger/v1/ledger.js';
import { emptyAccount, emptyKey } from '../books/buckets.js';
import { entryId, post, postings } from '../books/journal.js';
import type { Changes, HoldRecord, ReleaseOperation, SettleOperation, Touched } from '../books/model.js';
import { bucketsOfHold, budgetChanges, moved, noBudgets } from '../budgets/buckets.js';
import type { EntryText, Posting } from '../books/journal.js';

/** Holds how a hold ends. Amounts are what is booked now, in addition to what its expiry may have captured; at least zero. */
export interface Outcome {
  readonly state: HoldState;
  readonly captureNanoUsd?: bigint;
  readonly shortfallNanoUsd?: bigint;
  readonly correctionNanoUsd?: bigint;
}

/** Returns the record of a hold that the database does not know, and that has ended: it set nothing aside, and its budgets are not known. */
export function unknownHold({ holdId, accountId }: ReleaseOperation | SettleOperation, state: HoldState, nowMs: number): HoldRecord {
  return {
    id: holdId,
    accountId,
    keyId: undefined,
    amountNanoUsd: 0n,
    checkpointNanoUsd: 0n,
    capturedNanoUsd: 0n,
    shortfallNanoUsd: 0n,
    state,
    createdAtMs: nowMs,
    expiresAtMs: nowMs,
    fingerprint: undefined,
    lastSeq: 0n,
    refundedNanoUsd: 0n,
    chargeSeq: 0n,
    budgets: noBudgets,
  };
}

/** Returns what an open hold sets aside; an ended one sets nothing aside. */
export function reservedNanoUsd(hold: HoldRecord): bigint {
  return hold.state === HoldState.HOLD_STATE_OPEN ? hold.amountNanoUsd : 0n;
}

/** Returns the rows of account, key, budgets and hold after the hold has ended, with one entry per non-zero amount. */
export function closeHold(touched: Touched, hold: HoldRecord, outcome: Outcome, nowMs: number): Changes & { hold: HoldRecord } {
  assert(hold.keyId !== undefined, 'A tombstone is never closed again.');
  const { captureNanoUsd = 0n, shortfallNanoUsd = 0n, correctionNanoUsd = 0n } = outcome;
  const key = touched.key ?? emptyKey(hold.accountId, hold.keyId);
  const before = touched.account ?? emptyAccount(hold.accountId);
  let account = { ...before, heldNanoUsd: before.heldNanoUsd - reservedNanoUsd(hold) };
  const entries = [];
  const text: Omit<EntryText, 'amountNanoUsd'> = { reference: hold.id, keyId: hold.keyId };
  const bookings: [Posting, EntryText][] = [
    [postings.charge, { ...text, amountNanoUsd: captureNanoUsd }],
    [postings.shortfall, { ...text, amountNanoUsd: shortfallNanoUsd }],
    [postings.chargeCorrection, { ...text, amountNanoUsd: correctionNanoUsd, linkedEntryId: entryId(hold.accountId, hold.lastSeq) }],
  ];
  for (const [posting, entryText] of bookings) {
    if (entryText.amountNanoUsd === 0n) continue;
    const posted = post(account, posting, entryText, nowMs);
    account = posted.account;
    entries.push(posted.entry);
  }
  const freed = { heldNanoUsd: -reservedNanoUsd(hold), spentNanoUsd: captureNanoUsd - correctionNanoUsd };
  return {
    account,
    key: { ...key, heldNanoUsd: key.heldNanoUsd + freed.heldNanoUsd, spentNanoUsd: key.spentNanoUsd + freed.spentNanoUsd },
    ...budgetChanges(
      bucketsOfHold(hold, touched.budgets).map((bucket) => moved(bucket, freed)),
      nowMs,
    ),
    hold: {
      ...hold,
      state: outcome.state,
      capturedNanoUsd: hold.capturedNanoUsd + captureNanoUsd - correctionNanoUsd,
      shortfallNanoUsd: hold.shortfallNanoUsd + shortfallNanoUsd,
      lastSeq: entries.at(-1)?.seq ?? hold.lastSeq,
      chargeSeq: entries.find((entry) => entry.kind === EntryKind.ENTRY_KIND_CHARGE)?.seq ?? hold.chargeSeq,
    },
    entries,
  };
}
