// The output of balances, journal entries, holds and verifications.
import {
  type Balance,
  BookAccount,
  DepositSource,
  type Entry,
  EntryKind,
  type Hold,
  HoldState,
  type VerifyResponse,
  type VerifyResponse_Drift,
} from '#proto/ledger/v1/ledger.js';
import { instant, instantJson, usd, usdJson, type View } from '../output.js';
import { wordsOf } from '../options/parse.js';

const entryKinds = wordsOf<EntryKind>(EntryKind, 'ENTRY_KIND_');
const books = wordsOf<BookAccount>(BookAccount, 'BOOK_ACCOUNT_');
const holdStates = wordsOf<HoldState>(HoldState, 'HOLD_STATE_');

/** The sources of deposits, in words. */
export const depositSources = wordsOf<DepositSource>(DepositSource, 'DEPOSIT_SOURCE_');

/** The balance of an account. */
export const balanceView: View<Balance> = {
  json: (balance) => ({
    account_id: balance.accountId,
    ...usdJson('available', balance.availableNanoUsd),
    ...usdJson('held', balance.heldNanoUsd),
    ...usdJson('spent', balance.spentNanoUsd),
    ...usdJson('credited', balance.creditedNanoUsd),
    seq: balance.seq.toString(),
  }),
  columns: [
    { title: 'account', text: (balance) => balance.accountId },
    { title: 'available', text: (balance) => usd(balance.availableNanoUsd), align: 'right' },
    { title: 'held', text: (balance) => usd(balance.heldNanoUsd), align: 'right' },
    { title: 'spent', text: (balance) => usd(balance.spentNanoUsd), align: 'right' },
    { title: 'credited', text: (balance) => usd(balance.creditedNanoUsd), align: 'right' },
  ],
};

/** Returns the kind of an entry, and the books that it debits and credits, in words. */
export function entryWords(entry: Entry): { kind: string; debit: string; credit: string } {
  return { kind: entryKinds.of(entry.kind), debit: books.of(entry.debit), credit: books.of(entry.credit) };
}

/** Returns the effect of an entry on the customer's balance. */
function signedAmount(entry: Entry): bigint {
  if (entry.credit === BookAccount.BOOK_ACCOUNT_CUSTOMER) return entry.amountNanoUsd;
  return entry.debit === BookAccount.BOOK_ACCOUNT_CUSTOMER ? -entry.amountNanoUsd : 0n;
}

/** An entry of the journal. */
export const entryView: View<Entry> = {
  json: (entry) => ({
    id: entry.id,
    account_id: entry.accountId,
    seq: entry.seq.toString(),
    ...entryWords(entry),
    ...usdJson('amount', entry.amountNanoUsd),
    ...usdJson('credited_after', entry.creditedAfterNanoUsd),
    ...usdJson('spent_after', entry.spentAfterNanoUsd),
    ...usdJson('held_after', entry.heldAfterNanoUsd),
    reference: entry.reference,
    key_id: entry.keyId === '' ? null : entry.keyId,
    reason: entry.reason,
    linked_entry_id: entry.linkedEntryId === '' ? null : entry.linkedEntryId,
    idempotency_key: entry.idempotencyKey === '' ? null : entry.idempotencyKey,
    created_at: instantJson(entry.createdAtMs),
  }),
  columns: [
    { title: 'seq', text: (entry) => entry.seq.toString(), align: 'right' },
    { title: 'time', text: (entry) => instant(entry.createdAtMs) },
    { title: 'kind', text: (entry) => entryKinds.of(entry.kind) },
    { title: 'amount', text: (entry) => usd(signedAmount(entry)), align: 'right' },
    { title: 'balance after', text: (entry) => usd(entry.creditedAfterNanoUsd - entry.spentAfterNanoUsd), align: 'right' },
    { title: 'entry', text: (entry) => entry.id },
    { title: 'call or idempotency key', text: (entry) => entry.reference },
    { title: 'reason', text: (entry) => entry.reason },
  ],
};

/** Funds held for a call. */
export const holdView: View<Hold> = {
  json: (hold) => ({
    id: hold.id,
    account_id: hold.accountId,
    key_id: hold.keyId,
    state: holdStates.of(hold.state),
    ...usdJson('amount', hold.amountNanoUsd),
    ...usdJson('checkpoint', hold.checkpointNanoUsd),
    ...usdJson('captured', hold.capturedNanoUsd),
    ...usdJson('shortfall', hold.shortfallNanoUsd),
    ...usdJson('refunded', hold.refundedNanoUsd),
    created_at: instantJson(hold.createdAtMs),
    expires_at: instantJson(hold.expiresAtMs),
  }),
  columns: [
    { title: 'hold', text: (hold) => hold.id },
    { title: 'key', text: (hold) => hold.keyId },
    { title: 'amount', text: (hold) => usd(hold.amountNanoUsd), align: 'right' },
    { title: 'used so far', text: (hold) => usd(hold.checkpointNanoUsd), align: 'right' },
    { title: 'since', text: (hold) => instant(hold.createdAtMs) },
    { title: 'expires', text: (hold) => instant(hold.expiresAtMs) },
  ],
};

/** A figure that differs from the journal. */
export const driftView: View<VerifyResponse_Drift> = {
  json: (drift) => ({
    account_id: drift.accountId,
    what: drift.subject,
    ...usdJson('stored', drift.storedNanoUsd),
    ...usdJson('rebuilt', drift.rebuiltNanoUsd),
  }),
  columns: [
    { title: 'account', text: (drift) => drift.accountId },
    { title: 'what', text: (drift) => drift.subject },
    { title: 'stored', text: (drift) => usd(drift.storedNanoUsd), align: 'right' },
    { title: 'rebuilt', text: (drift) => usd(drift.rebuiltNanoUsd), align: 'right' },
  ],
};

/** Reports whether a verification found no faults. */
export function isRight(result: VerifyResponse): boolean {
  return result.drifts.length === 0 && result.sumNanoUsd === 0n;
}

/** The result of a verification; the drifts are a separate table. */
export const verificationView: View<VerifyResponse> = {
  json: (result) => ({
    ok: isRight(result),
    accounts_checked: Number(result.accountsChecked),
    entries_checked: Number(result.entriesChecked),
    open_holds: Number(result.openHolds),
    ...usdJson('sum', result.sumNanoUsd),
    drifts: result.drifts.map((drift) => driftView.json(drift)),
  }),
  columns: [
    { title: 'result', text: (result) => (isRight(result) ? 'correct' : 'incorrect') },
    { title: 'accounts checked', text: (result) => result.accountsChecked.toString() },
    { title: 'entries checked', text: (result) => result.entriesChecked.toString() },
    { title: 'open holds', text: (result) => result.openHolds.toString() },
    { title: 'debits less credits', text: (result) => usd(result.sumNanoUsd) },
  ],
};
