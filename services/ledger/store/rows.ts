// Database rows of the ledger's tables, and the plain data they stand for.
import assert from 'node:assert/strict';
import type { Engine } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain-transaction.js';
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import type { Entry } from '#proto/ledger/v1/ledger.js';
import { fingerprintOf } from '../fingerprint.js';
import { entryId, isOfHold, seqOfEntryId } from '../journal.js';
import type { AccountBucket, HoldRecord, KeyBucket, OperationRecord } from '../model.js';
import { slotOf } from '../slot.js';

/** The scope of the account's own money. */
export const accountScope = Buffer.alloc(16);

/** The 16 bytes of an id that was validated before. */
export function bytesOf(prefix: string, id: string): Buffer {
  const bytes = idToBytes(prefix, id);
  assert(bytes !== undefined, `Not an id with the prefix ${prefix}.`);
  return bytes;
}

/** The columns that lead every row of an account. */
export function accountColumns(accountId: string, engine: Engine): { slot: number; account_id: Buffer } {
  const bytes = bytesOf('acct', accountId);
  return { slot: slotOf(bytes, engine), account_id: bytes };
}

export const bucketKey = ['slot', 'account_id', 'scope_id'] as const;
export const bucketValues = ['cap_nano_usd', 'spent_nano_usd', 'held_nano_usd', 'seq', 'limit_nano_usd', 'limit_version'] as const;
export const bucketColumns = [...bucketKey, ...bucketValues] as const;

export function isAccountRow(row: Row): boolean {
  return accountScope.equals(asBytes(row['scope_id']));
}

export function toAccount(row: Row): AccountBucket {
  return {
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    creditedNanoUsd: asBigInt(row['cap_nano_usd']),
    spentNanoUsd: asBigInt(row['spent_nano_usd']),
    heldNanoUsd: asBigInt(row['held_nano_usd']),
    seq: asBigInt(row['seq']),
  };
}

export function fromAccount(account: AccountBucket, engine: Engine): Row {
  return {
    ...accountColumns(account.accountId, engine),
    scope_id: accountScope,
    cap_nano_usd: account.creditedNanoUsd,
    spent_nano_usd: account.spentNanoUsd,
    held_nano_usd: account.heldNanoUsd,
    seq: account.seq,
    limit_nano_usd: null,
    limit_version: 0n,
  };
}

export function toKey(row: Row): KeyBucket {
  return {
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    keyId: idFromBytes('key', asBytes(row['scope_id'])),
    spentNanoUsd: asBigInt(row['spent_nano_usd']),
    heldNanoUsd: asBigInt(row['held_nano_usd']),
    limitNanoUsd: optional(row['limit_nano_usd'], asBigInt),
    limitVersion: asBigInt(row['limit_version']),
  };
}

export function fromKey(key: KeyBucket, engine: Engine): Row {
  return {
    ...accountColumns(key.accountId, engine),
    scope_id: bytesOf('key', key.keyId),
    cap_nano_usd: null,
    spent_nano_usd: key.spentNanoUsd,
    held_nano_usd: key.heldNanoUsd,
    seq: 0n,
    limit_nano_usd: key.limitNanoUsd ?? null,
    limit_version: key.limitVersion,
  };
}

export const holdKey = ['slot', 'id', 'account_id'] as const;
/** The columns of a hold that change in its life. */
export const holdValues = ['checkpoint_nano_usd', 'captured_nano_usd', 'shortfall_nano_usd', 'state', 'expires_at_ms', 'last_seq', 'refunded_nano_usd', 'charge_seq'] as const;
export const holdColumns = [...holdKey, 'key_id', 'amount_nano_usd', 'created_at_ms', 'fingerprint', ...holdValues] as const;

export function toHold(row: Row): HoldRecord {
  return {
    id: idFromBytes('req', asBytes(row['id'])),
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    keyId: optional(row['key_id'], (value) => idFromBytes('key', asBytes(value))),
    amountNanoUsd: asBigInt(row['amount_nano_usd']),
    checkpointNanoUsd: asBigInt(row['checkpoint_nano_usd']),
    capturedNanoUsd: asBigInt(row['captured_nano_usd']),
    shortfallNanoUsd: asBigInt(row['shortfall_nano_usd']),
    state: asNumber(row['state']),
    createdAtMs: asNumber(row['created_at_ms']),
    expiresAtMs: asNumber(row['expires_at_ms']),
    fingerprint: optional(row['fingerprint'], (value) => asBytes(value).toString('hex')),
    lastSeq: asBigInt(row['last_seq']),
    refundedNanoUsd: asBigInt(row['refunded_nano_usd']),
    chargeSeq: asBigInt(row['charge_seq']),
  };
}

export function fromHold(hold: HoldRecord, engine: Engine): Row {
  return {
    ...accountColumns(hold.accountId, engine),
    id: bytesOf('req', hold.id),
    key_id: hold.keyId === undefined ? null : bytesOf('key', hold.keyId),
    amount_nano_usd: hold.amountNanoUsd,
    checkpoint_nano_usd: hold.checkpointNanoUsd,
    captured_nano_usd: hold.capturedNanoUsd,
    shortfall_nano_usd: hold.shortfallNanoUsd,
    state: hold.state,
    created_at_ms: hold.createdAtMs,
    expires_at_ms: hold.expiresAtMs,
    fingerprint: hold.fingerprint === undefined ? null : Buffer.from(hold.fingerprint, 'hex'),
    last_seq: hold.lastSeq,
    refunded_nano_usd: hold.refundedNanoUsd,
    charge_seq: hold.chargeSeq,
  };
}

export const entryColumns = [
  'slot', 'account_id', 'seq', 'kind', 'debit', 'credit', 'amount_nano_usd', 'credited_after_nano_usd', 'spent_after_nano_usd',
  'held_after_nano_usd', 'hold_id', 'idempotency_key', 'key_id', 'reason', 'linked_seq', 'created_at_ms',
] as const;

export function toEntry(row: Row): Entry {
  const accountId = idFromBytes('acct', asBytes(row['account_id']));
  const seq = asBigInt(row['seq']);
  const holdId = optional(row['hold_id'], (value) => idFromBytes('req', asBytes(value)));
  const idempotencyKey = optional(row['idempotency_key'], asText) ?? '';
  return {
    id: entryId(accountId, seq),
    accountId,
    seq,
    kind: asNumber(row['kind']),
    debit: asNumber(row['debit']),
    credit: asNumber(row['credit']),
    amountNanoUsd: asBigInt(row['amount_nano_usd']),
    creditedAfterNanoUsd: asBigInt(row['credited_after_nano_usd']),
    spentAfterNanoUsd: asBigInt(row['spent_after_nano_usd']),
    heldAfterNanoUsd: asBigInt(row['held_after_nano_usd']),
    // A row with neither is corrupt, which is for Verify to say.
    reference: holdId ?? idempotencyKey,
    keyId: optional(row['key_id'], (value) => idFromBytes('key', asBytes(value))) ?? '',
    reason: asText(row['reason']),
    linkedEntryId: optional(row['linked_seq'], (value) => entryId(accountId, asBigInt(value))) ?? '',
    createdAtMs: asBigInt(row['created_at_ms']),
    idempotencyKey,
  };
}

export function fromEntry(entry: Entry, engine: Engine): Row {
  return {
    ...accountColumns(entry.accountId, engine),
    seq: entry.seq,
    kind: entry.kind,
    debit: entry.debit,
    credit: entry.credit,
    amount_nano_usd: entry.amountNanoUsd,
    credited_after_nano_usd: entry.creditedAfterNanoUsd,
    spent_after_nano_usd: entry.spentAfterNanoUsd,
    held_after_nano_usd: entry.heldAfterNanoUsd,
    hold_id: isOfHold(entry.kind) ? bytesOf('req', entry.reference) : null,
    idempotency_key: entry.idempotencyKey === '' ? null : entry.idempotencyKey,
    key_id: entry.keyId === '' ? null : bytesOf('key', entry.keyId),
    reason: entry.reason,
    linked_seq: entry.linkedEntryId === '' ? null : seqOfEntryId(entry.linkedEntryId),
    created_at_ms: entry.createdAtMs,
  };
}

export const operationColumns = ['slot', 'account_id', 'id', 'kind', 'fingerprint', 'result_seq', 'created_at_ms'] as const;

/** The id under which an idempotency key is stored. */
export function operationId(idempotencyKey: string): Buffer {
  return Buffer.from(fingerprintOf([idempotencyKey]), 'hex');
}

export function fromOperation(record: OperationRecord, engine: Engine): Row {
  return {
    ...accountColumns(record.accountId, engine),
    id: operationId(record.idempotencyKey),
    kind: record.entry.kind,
    fingerprint: Buffer.from(record.fingerprint, 'hex'),
    result_seq: record.entry.seq,
    created_at_ms: record.entry.createdAtMs,
  };
}
