// The output of statements and redemption codes.
import { type RedemptionCode, RedemptionCodeState, type Statement } from '#proto/ledger/v1/ledger.js';
import type { GetUsageTotalsResponse_Group } from '#proto/metering/v1/metering.js';
import { instant, instantJson, usd, usdJson, type View } from '../output.js';
import { wordsOf } from '../options/parse.js';

/** A month of an account. */
export const statementView: View<Statement> = {
  json: (statement) => ({
    account_id: statement.accountId,
    month: statement.month,
    from: instantJson(statement.fromMs),
    until: instantJson(statement.untilMs),
    ...usdJson('opening', statement.openingNanoUsd),
    ...usdJson('deposits', statement.depositsNanoUsd),
    ...usdJson('adjustments', statement.adjustmentsNanoUsd),
    ...usdJson('charges', statement.chargesNanoUsd),
    ...usdJson('refunds', statement.refundsNanoUsd),
    ...usdJson('closing', statement.closingNanoUsd),
    lines: Number(statement.entries),
    has_archived_lines: statement.hasArchivedEntries,
    is_closed: statement.isClosed,
  }),
  columns: [
    { title: 'month', text: (statement) => statement.month },
    { title: 'opening', text: (statement) => usd(statement.openingNanoUsd), align: 'right' },
    { title: 'deposits', text: (statement) => usd(statement.depositsNanoUsd), align: 'right' },
    { title: 'adjustments', text: (statement) => usd(statement.adjustmentsNanoUsd), align: 'right' },
    { title: 'charges', text: (statement) => usd(statement.chargesNanoUsd), align: 'right' },
    { title: 'refunds', text: (statement) => usd(statement.refundsNanoUsd), align: 'right' },
    { title: 'closing', text: (statement) => usd(statement.closingNanoUsd), align: 'right' },
    { title: 'lines', text: (statement) => statement.entries.toString(), align: 'right' },
    {
      title: 'state',
      text: ({ hasArchivedEntries, isClosed }) => `${isClosed ? 'closed' : 'still open'}${hasArchivedEntries ? ', partly archived' : ''}`,
    },
  ],
};

/** The states of codes, in words; an open code may have expired. */
export const codeStates = wordsOf<RedemptionCodeState>(RedemptionCodeState, 'REDEMPTION_CODE_STATE_');

/** A redemption code, with its secret when it is shown. */
export interface ShownCode {
  readonly code: RedemptionCode;
  readonly secret?: string | undefined;
  readonly nowMs: number;
}

function stateOf({ code, nowMs }: ShownCode): string {
  const hasExpired = code.expiresAtMs !== undefined && code.expiresAtMs <= BigInt(nowMs);
  return code.state === RedemptionCodeState.REDEMPTION_CODE_STATE_OPEN && hasExpired ? 'expired' : codeStates.of(code.state);
}

/** Codes; the secret is present only when they are created. */
export const codeView: View<ShownCode> = {
  json: (shown) => ({
    id: shown.code.id,
    batch_id: shown.code.batchId,
    ...(shown.secret === undefined ? {} : { code: shown.secret }),
    last_four: shown.code.lastFour,
    ...usdJson('amount', shown.code.amountNanoUsd),
    state: stateOf(shown),
    note: shown.code.note,
    created_by: shown.code.createdBy,
    created_at: instantJson(shown.code.createdAtMs),
    expires_at: instantJson(shown.code.expiresAtMs),
    ended_at: instantJson(shown.code.endedAtMs),
    account_id: shown.code.accountId === '' ? null : shown.code.accountId,
    entry_id: shown.code.entryId === '' ? null : shown.code.entryId,
  }),
  columns: [
    { title: 'code', text: ({ code, secret }) => secret ?? `…${code.lastFour}` },
    { title: 'amount', text: ({ code }) => usd(code.amountNanoUsd), align: 'right' },
    { title: 'state', text: stateOf },
    { title: 'expires', text: ({ code }) => instant(code.expiresAtMs) },
    { title: 'account', text: ({ code }) => code.accountId },
    { title: 'id', text: ({ code }) => code.id },
    { title: 'batch', text: ({ code }) => code.batchId },
    { title: 'note', text: ({ code }) => code.note },
  ],
};

/** The cost of one project's calls in a month. */
export const projectChargesView: View<{ readonly group: GetUsageTotalsResponse_Group; readonly project: string }> = {
  json: ({ group: { name, calls, chargeNanoUsd }, project }) => ({
    project_id: name,
    project,
    calls: Number(calls),
    ...usdJson('charge', chargeNanoUsd),
  }),
  columns: [
    { title: 'project', text: ({ group }) => group.name },
    { title: 'name', text: ({ project }) => project },
    { title: 'calls', text: ({ group }) => String(group.calls), align: 'right' },
    { title: 'charge', text: ({ group }) => usd(group.chargeNanoUsd), align: 'right' },
  ],
};
