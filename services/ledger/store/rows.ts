// Converts between rows of the ledger's tables, as lists of values in column order, and plain data.
import assert from 'node:assert/strict';
import type { Engine } from '#kit/db/open.js';
import { Table, type Values } from '#kit/db/plain/table.js';
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import type { Entry } from '#proto/ledger/v1/ledger.js';
import { fingerprintOf } from '../books/fingerprint.js';
import { entryId, isOfHold, seqOfEntryId } from '../books/journal.js';
import type { AccountBucket, BudgetBucket, DueAlert, HoldRecord, KeyBucket, MonthOpening, OperationRecord } from '../books/model.js';
import { noBudgets } from '../budgets/buckets.js';
import { slotOf } from '../books/slot.js';

/** The scope of the account's own money. */
export const accountScope = Buffer.alloc(16);

/** Money of accounts, lifetime spend of keys, and spend of budgets by period. */
export const bucketTable = new Table('bucket', {
  key: ['slot', 'account_id', 'scope_id'],
  changing: [
    'cap_nano_usd',
    'spent_nano_usd',
    'held_nano_usd',
    'seq',
    'limit_nano_usd',
    'limit_version',
    'month',
    'deposited_nano_usd',
    'refunded_nano_usd',
    'budget',
    'alert_at_nano_usd',
    'archived_nano_usd',
  ],
});

/** Holds in every state. */
export const holdTable = new Table('hold', {
  key: ['slot', 'id', 'account_id'],
  fixed: ['key_id', 'amount_nano_usd', 'created_at_ms', 'fingerprint', 'budgets'],
  changing: [
    'checkpoint_nano_usd',
    'captured_nano_usd',
    'shortfall_nano_usd',
    'state',
    'expires_at_ms',
    'last_seq',
    'refunded_nano_usd',
    'charge_seq',
  ],
});

const msPerDay = 86_400_000n;

/** The journal, which is append-only. The day (UTC, counted from 1970) is there for partitions. */
export const journalTable = new Table('journal', {
  key: ['slot', 'account_id', 'seq'],
  fixed: [
    'kind',
    'debit',
    'credit',
    'amount_nano_usd',
    'credited_after_nano_usd',
    'spent_after_nano_usd',
    'held_after_nano_usd',
    'hold_id',
    'idempotency_key',
    'key_id',
    'reason',
    'linked_seq',
    'created_at_ms',
    'day',
  ],
});

/** The sums of accounts at the beginning of each month that has an entry. Months are kept when their entries are archived. */
export const monthTable = new Table('journal_month', {
  key: ['slot', 'account_id', 'month'],
  fixed: ['first_seq', 'credited_nano_usd', 'spent_nano_usd', 'deposited_nano_usd', 'refunded_nano_usd'],
});

/** The kinds of entries that are not charges, so that these few can be found among the many charges. */
export const noteTable = new Table('journal_note', { key: ['slot', 'account_id', 'seq'], fixed: ['kind'] });

/** Alerts of budgets that are due and not sent yet. */
export const dueAlertTable = new Table('budget_alert', {
  key: ['slot', 'account_id', 'scope_id', 'percent'],
  fixed: ['spent_nano_usd', 'at_ms'],
});

/** The sums of archived beginnings of journals; the row without an account holds the instant before which rows may have been archived. */
export const baseTable = new Table('journal_base', { key: ['slot', 'account_id'], changing: ['seq', 'until_ms', 'sums'] });

/** The key of the row that belongs to no account. */
export const noAccount: AccountColumns = { slot: 0, account_id: Buffer.alloc(16) };

/** Deposits, adjustments and refunds by their idempotency keys. */
export const operationTable = new Table('op', {
  key: ['slot', 'account_id', 'id'],
  fixed: ['kind', 'fingerprint', 'result_seq', 'created_at_ms'],
});

/** Returns the 16 bytes of an id that was validated before. */
export function bytesOf(prefix: string, id: string): Buffer {
  const bytes = Buffer.from(id.slice(prefix.length + 1), 'hex');
  assert(bytes.length === 16 && id.startsWith(prefix), `Not an id with the prefix ${prefix}.`);
  return bytes;
}

/** Holds the columns that lead every row of an account. */
export interface AccountColumns {
  readonly slot: number;
  readonly account_id: Buffer;
}

/** Returns the columns that lead the rows of an account. */
export function accountColumns(accountId: string, engine: Engine): AccountColumns {
  const bytes = bytesOf('acct', accountId);
  return { slot: slotOf(bytes, engine), account_id: bytes };
}

/** The place of `budget` in a bucket's row. */
const budgetColumn = bucketTable.columns.indexOf('budget');

/** Passes each row to the function for its kind. */
export function eachBucket(
  rows: readonly Values[],
  to: {
    readonly account: (account: AccountBucket) => void;
    readonly key: (key: KeyBucket) => void;
    readonly budget: (budget: BudgetBucket) => void;
  },
): void {
  for (const row of rows) {
    if (row[budgetColumn] !== null) to.budget(toBudget(row));
    else if (accountScope.equals(asBytes(row[2]))) to.account(toAccount(row));
    else to.key(toKey(row));
  }
}

export function toAccount([, account, , cap, spent, held, seq, , , month, deposited, refunded]: Values): AccountBucket {
  return {
    accountId: idFromBytes('acct', asBytes(account)),
    creditedNanoUsd: asBigInt(cap),
    spentNanoUsd: asBigInt(spent),
    heldNanoUsd: asBigInt(held),
    seq: asBigInt(seq),
    sums: {
      month: asNumber(month),
      depositedNanoUsd: asBigInt(deposited),
      refundedNanoUsd: asBigInt(refunded),
    },
  };
}

export function fromAccount(account: AccountBucket, { slot, account_id }: AccountColumns): Values {
  const { month, depositedNanoUsd, refundedNanoUsd } = account.sums;
  return [
    slot,
    account_id,
    accountScope,
    account.creditedNanoUsd,
    account.spentNanoUsd,
    account.heldNanoUsd,
    account.seq,
    null,
    0n,
    month,
    depositedNanoUsd,
    refundedNanoUsd,
    null,
    null,
    0n,
  ];
}

export function toOpening([, , month, firstSeq, credited, spent, deposited, refunded]: Values): MonthOpening {
  return {
    month: asNumber(month),
    firstSeq: asBigInt(firstSeq),
    creditedNanoUsd: asBigInt(credited),
    spentNanoUsd: asBigInt(spent),
    depositedNanoUsd: asBigInt(deposited),
    refundedNanoUsd: asBigInt(refunded),
  };
}

export function fromOpening(opening: MonthOpening, { slot, account_id }: AccountColumns): Values {
  const { month, firstSeq, creditedNanoUsd, spentNanoUsd, depositedNanoUsd, refundedNanoUsd } = opening;
  return [slot, account_id, month, firstSeq, creditedNanoUsd, spentNanoUsd, depositedNanoUsd, refundedNanoUsd];
}

/** Returns the note of an entry that is not a charge. */
export function fromNoted(entry: Pick<Entry, 'seq' | 'kind'>, { slot, account_id }: AccountColumns): Values {
  return [slot, account_id, entry.seq, entry.kind];
}

export function toKey([, account, scope, , spent, held, , limit, limitVersion]: Values): KeyBucket {
  return {
    accountId: idFromBytes('acct', asBytes(account)),
    keyId: idFromBytes('key', asBytes(scope)),
    spentNanoUsd: asBigInt(spent),
    heldNanoUsd: asBigInt(held),
    limitNanoUsd: optional(limit, asBigInt),
    limitVersion: asBigInt(limitVersion),
  };
}

export function fromKey(key: KeyBucket, { slot, account_id }: AccountColumns): Values {
  return [
    slot,
    account_id,
    bytesOf('key', key.keyId),
    null,
    key.spentNanoUsd,
    key.heldNanoUsd,
    0n,
    key.limitNanoUsd ?? null,
    key.limitVersion,
    0,
    0n,
    0n,
    null,
    null,
    0n,
  ];
}

function toBudget([, account, scope, , spent, held, , limit, version, , , , budget, alertAt, archived]: Values): BudgetBucket {
  return {
    accountId: idFromBytes('acct', asBytes(account)),
    scopeId: asBytes(scope).toString('hex'),
    spentNanoUsd: asBigInt(spent),
    heldNanoUsd: asBigInt(held),
    limitNanoUsd: optional(limit, asBigInt),
    limitVersion: asBigInt(version),
    budgetText: asText(budget),
    alertAtNanoUsd: optional(alertAt, asBigInt),
    archivedNanoUsd: asBigInt(archived),
  };
}

export function fromBudget(bucket: BudgetBucket, { slot, account_id }: AccountColumns): Values {
  return [
    slot,
    account_id,
    Buffer.from(bucket.scopeId, 'hex'),
    null,
    bucket.spentNanoUsd,
    bucket.heldNanoUsd,
    0n,
    bucket.limitNanoUsd ?? null,
    bucket.limitVersion,
    0,
    0n,
    0n,
    bucket.budgetText,
    bucket.alertAtNanoUsd ?? null,
    bucket.archivedNanoUsd,
  ];
}

export function fromDueAlert(alert: DueAlert, { slot, account_id }: AccountColumns): Values {
  return [slot, account_id, Buffer.from(alert.scopeId, 'hex'), alert.percent, alert.spentNanoUsd, alert.atMs];
}

export function toHold(row: Values): HoldRecord {
  const [
    ,
    id,
    account,
    key,
    amount,
    createdAt,
    fingerprint,
    budgets,
    checkpoint,
    captured,
    shortfall,
    state,
    expiresAt,
    lastSeq,
    refunded,
    chargeSeq,
  ] = row;
  return {
    id: idFromBytes('req', asBytes(id)),
    accountId: idFromBytes('acct', asBytes(account)),
    keyId: optional(key, (value) => idFromBytes('key', asBytes(value))),
    amountNanoUsd: asBigInt(amount),
    checkpointNanoUsd: asBigInt(checkpoint),
    capturedNanoUsd: asBigInt(captured),
    shortfallNanoUsd: asBigInt(shortfall),
    state: asNumber(state),
    createdAtMs: asNumber(createdAt),
    expiresAtMs: asNumber(expiresAt),
    fingerprint: optional(fingerprint, (value) => asBytes(value).toString('hex')),
    lastSeq: asBigInt(lastSeq),
    refundedNanoUsd: asBigInt(refunded),
    chargeSeq: asBigInt(chargeSeq),
    budgets: optional(budgets, (value) => scopesIn(asBytes(value))) ?? noBudgets,
  };
}

export function fromHold(hold: HoldRecord, { slot, account_id }: AccountColumns): Values {
  return [
    slot,
    bytesOf('req', hold.id),
    account_id,
    hold.keyId === undefined ? null : bytesOf('key', hold.keyId),
    hold.amountNanoUsd,
    hold.createdAtMs,
    hold.fingerprint === undefined ? null : Buffer.from(hold.fingerprint, 'hex'),
    hold.budgets.length === 0 ? null : Buffer.from(hold.budgets.join(''), 'hex'),
    hold.checkpointNanoUsd,
    hold.capturedNanoUsd,
    hold.shortfallNanoUsd,
    hold.state,
    hold.expiresAtMs,
    hold.lastSeq,
    hold.refundedNanoUsd,
    hold.chargeSeq,
  ];
}

/** Returns the scopes of buckets that a hold stores one after another. */
function scopesIn(bytes: Buffer): string[] {
  const digits = bytes.toString('hex');
  return Array.from({ length: digits.length / 32 }, (_, index) => digits.slice(index * 32, index * 32 + 32));
}

export function toEntry(row: Values): Entry {
  const [
    ,
    account,
    seqColumn,
    kind,
    debit,
    credit,
    amount,
    creditedAfter,
    spentAfter,
    heldAfter,
    hold,
    operationKey,
    key,
    reason,
    linkedSeq,
    createdAt,
  ] = row;
  const accountId = idFromBytes('acct', asBytes(account));
  const seq = asBigInt(seqColumn);
  const holdId = optional(hold, (value) => idFromBytes('req', asBytes(value)));
  const idempotencyKey = optional(operationKey, asText) ?? '';
  return {
    id: entryId(accountId, seq),
    accountId,
    seq,
    kind: asNumber(kind),
    debit: asNumber(debit),
    credit: asNumber(credit),
    amountNanoUsd: asBigInt(amount),
    creditedAfterNanoUsd: asBigInt(creditedAfter),
    spentAfterNanoUsd: asBigInt(spentAfter),
    heldAfterNanoUsd: asBigInt(heldAfter),
    // A row with neither is corrupt, which Verify reports.
    reference: holdId ?? idempotencyKey,
    keyId: optional(key, (value) => idFromBytes('key', asBytes(value))) ?? '',
    reason: asText(reason),
    linkedEntryId: optional(linkedSeq, (value) => entryId(accountId, asBigInt(value))) ?? '',
    createdAtMs: asBigInt(createdAt),
    idempotencyKey,
  };
}

export function fromEntry(entry: Entry, { slot, account_id }: AccountColumns): Values {
  return [
    slot,
    account_id,
    entry.seq,
    entry.kind,
    entry.debit,
    entry.credit,
    entry.amountNanoUsd,
    entry.creditedAfterNanoUsd,
    entry.spentAfterNanoUsd,
    entry.heldAfterNanoUsd,
    isOfHold(entry.kind) ? bytesOf('req', entry.reference) : null,
    entry.idempotencyKey === '' ? null : entry.idempotencyKey,
    entry.keyId === '' ? null : bytesOf('key', entry.keyId),
    entry.reason,
    entry.linkedEntryId === '' ? null : seqOfEntryId(entry.linkedEntryId),
    entry.createdAtMs,
    Number(entry.createdAtMs / msPerDay),
  ];
}

/** Returns the id under which an idempotency key is stored. */
export function operationId(idempotencyKey: string): Buffer {
  return Buffer.from(fingerprintOf([idempotencyKey]), 'hex');
}

export function fromOperation(record: OperationRecord, { slot, account_id }: AccountColumns): Values {
  const { entry } = record;
  return [
    slot,
    account_id,
    operationId(record.idempotencyKey),
    entry.kind,
    Buffer.from(record.fingerprint, 'hex'),
    entry.seq,
    entry.createdAtMs,
  ];
}
