// The output of drifts between records and ledger, and of charges that the ledger has not accepted.
import type { VerifyResponse } from '#proto/ledger/v1/ledger.js';
import { type Drift, DriftCheck, type UnsettledCharge, UnsettledState } from '#proto/metering/v1/metering.js';
import { instant, instantJson, usd, usdJson, type View } from '../output.js';
import { wordsOf } from '../options/parse.js';

const checks = wordsOf<DriftCheck>(DriftCheck, 'DRIFT_CHECK_');

/** The words for the states of unsettled charges. */
export const unsettledStates = wordsOf<UnsettledState>(UnsettledState, 'UNSETTLED_STATE_');

/** Everything that `tollgate ledger verify` checked. */
export interface Verification {
  readonly accountsChecked: bigint;
  readonly recordsChecked: bigint;
  readonly holdsChecked: bigint;
  readonly settlementsChecked: bigint;
  readonly entriesChecked: bigint;
  readonly openHolds: bigint;
  readonly sumNanoUsd: bigint;
  readonly drifts: readonly Drift[];
}

/** Returns the ledger's own findings in the same form as the others. */
export function driftsOfBooks(verified: VerifyResponse): Drift[] {
  return verified.drifts.map(({ accountId, subject, storedNanoUsd, rebuiltNanoUsd }) => ({
    check: DriftCheck.DRIFT_CHECK_BOOKS,
    accountId,
    callId: /req_[0-9a-f]{32}/.exec(subject)?.[0] ?? '',
    subject,
    stored: storedNanoUsd,
    expected: rebuiltNanoUsd,
  }));
}

/** Reports whether there are no drifts. */
export function agrees({ drifts, sumNanoUsd }: Verification): boolean {
  return drifts.length === 0 && sumNanoUsd === 0n;
}

/** A drift. The figures are nano-USD unless `what` names another quantity. */
export const driftView: View<Drift> = {
  json: (drift) => ({
    check: checks.of(drift.check),
    account_id: drift.accountId,
    call_id: drift.callId === '' ? null : drift.callId,
    what: drift.subject,
    stored: drift.stored.toString(),
    expected: drift.expected.toString(),
  }),
  columns: [
    { title: 'check', text: (drift) => checks.of(drift.check) },
    { title: 'account', text: (drift) => drift.accountId },
    { title: 'call', text: (drift) => drift.callId },
    { title: 'what', text: (drift) => drift.subject },
    { title: 'stored', text: (drift) => drift.stored.toString(), align: 'right' },
    { title: 'expected', text: (drift) => drift.expected.toString(), align: 'right' },
  ],
};

/** What was checked; the drifts are a separate table. */
export const verificationView: View<Verification> = {
  json: (verification) => ({
    ok: agrees(verification),
    accounts_checked: Number(verification.accountsChecked),
    records_checked: Number(verification.recordsChecked),
    holds_checked: Number(verification.holdsChecked),
    settlements_checked: Number(verification.settlementsChecked),
    entries_checked: Number(verification.entriesChecked),
    open_holds: Number(verification.openHolds),
    ...usdJson('sum', verification.sumNanoUsd),
    drifts: verification.drifts.map((drift) => driftView.json(drift)),
  }),
  columns: [
    { title: 'result', text: (verification) => (agrees(verification) ? 'correct' : 'incorrect') },
    { title: 'accounts checked', text: ({ accountsChecked }) => accountsChecked.toString() },
    { title: 'usage records checked', text: ({ recordsChecked }) => recordsChecked.toString() },
    { title: 'holds checked', text: ({ holdsChecked, openHolds }) => `${holdsChecked}, of which ${openHolds} are open` },
    { title: 'pending charges', text: ({ settlementsChecked }) => settlementsChecked.toString() },
    { title: 'journal entries checked', text: ({ entriesChecked }) => entriesChecked.toString() },
    { title: 'debits less credits', text: ({ sumNanoUsd }) => usd(sumNanoUsd) },
    { title: 'drifts', text: ({ drifts }) => drifts.length.toString() },
  ],
};

/** A charge that the ledger has not accepted. */
export const unsettledView: View<UnsettledCharge> = {
  json: (charge) => ({
    call_id: charge.callId,
    account_id: charge.accountId,
    key_id: charge.keyId,
    ...usdJson('charge', charge.chargeNanoUsd),
    state: unsettledStates.of(charge.state),
    attempts: charge.attempts,
    error: charge.error,
    recorded_at: instantJson(charge.recordedAtMs),
    closed_at: instantJson(charge.closedAtMs),
    reason: charge.closeReason === '' ? null : charge.closeReason,
  }),
  columns: [
    { title: 'recorded', text: (charge) => instant(charge.recordedAtMs) },
    { title: 'call', text: (charge) => charge.callId },
    { title: 'account', text: (charge) => charge.accountId },
    { title: 'charge', text: (charge) => usd(charge.chargeNanoUsd), align: 'right' },
    { title: 'state', text: (charge) => unsettledStates.of(charge.state) },
    { title: 'tries', text: (charge) => charge.attempts.toString(), align: 'right' },
    { title: 'why', text: (charge) => (charge.closeReason === '' ? charge.error : `${charge.error} Closed: ${charge.closeReason}`) },
  ],
};
