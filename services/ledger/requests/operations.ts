// Converts requests to operations: checks every field and computes every fingerprint. Raises invalid_request.
import { fault, fieldFault } from '#client/errors/fault.js';
import {
  type AdjustRequest,
  type CheckpointRequest_Item,
  type DepositRequest,
  DepositSource,
  type Entry,
  EntryKind,
  type HoldRequest,
  type RefundRequest,
  type ReleaseRequest,
  type ReverseRequest,
  type SettleRequest,
} from '#proto/ledger/v1/ledger.js';
import { amountNanoUsdMax } from '#rules/money/money.js';
import { pathOf } from '../budgets/path.js';
import { fingerprintOf } from '../books/fingerprint.js';
import type {
  AdjustOperation,
  CheckpointOperation,
  DepositOperation,
  HoldOperation,
  RefundOperation,
  ReleaseOperation,
  ReverseOperation,
  ReverseRefundOperation,
  SettleOperation,
} from '../books/model.js';
import {
  checkedAmount,
  checkedId,
  checkedIdempotencyKey,
  checkedLimit,
  checkedReason,
  checkedTtl,
  invalidField,
  optionalId,
} from './fields.js';

/** Returns the operation of a Hold. `nowMs` determines the current period of each budget. */
export function holdOperation(request: HoldRequest, nowMs: number): HoldOperation {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const keyId = checkedId('key_id', 'key', request.keyId);
  // A call to a free model needs a hold like any other, but nothing is set aside for it.
  const amountNanoUsd = checkedAmount('amount_nano_usd', request.amountNanoUsd, 0n);
  const minAmountNanoUsd = checkedAmount('min_amount_nano_usd', request.minAmountNanoUsd, amountNanoUsd === 0n ? 0n : 1n);
  if (minAmountNanoUsd > amountNanoUsd) throw fieldFault('min_amount_nano_usd', 'at_most_field', { other: 'amount_nano_usd' });
  const ttlMs = checkedTtl('ttl_ms', request.ttlMs);
  // Required, because a forgotten limit would otherwise mean no limit.
  const { keyLimit } = request;
  if (keyLimit === undefined) throw invalidField('key_limit', 'set, without limit_nano_usd for a key that has no limit');
  const { limitNanoUsd, version } = keyLimit;
  if (limitNanoUsd !== undefined) checkedLimit('key_limit.limit_nano_usd', limitNanoUsd);
  if (version < 0n) throw fieldFault('key_limit.version', 'at_least', { min: 0 });
  return {
    kind: 'hold',
    holdId: checkedId('hold_id', 'req', request.holdId),
    accountId,
    keyId,
    limitNanoUsd,
    limitVersion: version,
    amountNanoUsd,
    minAmountNanoUsd,
    ttlMs,
    budgets: pathOf(request.budgets, request.timeZone, nowMs),
    withProjectShare: request.withProjectShare,
    // The key's limit and the budgets are left out: they are what the caller knows, not what it requests, and may have changed before a retry.
    fingerprint: fingerprintOf([keyId, amountNanoUsd, minAmountNanoUsd, ttlMs]),
  };
}

/** Returns the operation of one item of a Checkpoint; `index` is its position in the request, for error messages. */
export function checkpointOperation(item: CheckpointRequest_Item, index: number): CheckpointOperation {
  const path = `items[${index}]`;
  return {
    kind: 'checkpoint',
    holdId: checkedId(`${path}.hold_id`, 'req', item.holdId),
    accountId: checkedId(`${path}.account_id`, 'acct', item.accountId),
    costSoFarNanoUsd: checkedAmount(`${path}.cost_so_far_nano_usd`, item.costSoFarNanoUsd, 0n),
    ttlMs: checkedTtl(`${path}.ttl_ms`, item.ttlMs),
  };
}

/** Returns the operation of a Settle. `isRecorded`: whether the caller has the record of the call. */
export function settleOperation(request: SettleRequest, isRecorded: boolean): SettleOperation {
  return {
    kind: 'settle',
    holdId: checkedId('hold_id', 'req', request.holdId),
    accountId: checkedId('account_id', 'acct', request.accountId),
    costNanoUsd: checkedAmount('cost_nano_usd', request.costNanoUsd, 0n),
    keyId: optionalId('key_id', 'key', request.keyId),
    isRecorded,
  };
}

/** Returns the operation of a Release. */
export function releaseOperation(request: ReleaseRequest): ReleaseOperation {
  return {
    kind: 'release',
    holdId: checkedId('hold_id', 'req', request.holdId),
    accountId: checkedId('account_id', 'acct', request.accountId),
  };
}

/** Returns the operation of a Deposit. */
export function depositOperation(request: DepositRequest): DepositOperation {
  const idempotencyKey = checkedIdempotencyKey(request.idempotencyKey);
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const amountNanoUsd = checkedAmount('amount_nano_usd', request.amountNanoUsd, 1n);
  const { source } = request;
  if (source !== DepositSource.DEPOSIT_SOURCE_CASH && source !== DepositSource.DEPOSIT_SOURCE_PROMOTION) {
    throw fieldFault('source', 'one_of', { values: 'DEPOSIT_SOURCE_CASH, DEPOSIT_SOURCE_PROMOTION' });
  }
  const reason = checkedReason(request.reason, { required: false });
  const fingerprint = fingerprintOf(['deposit', amountNanoUsd, source, reason]);
  return { kind: 'deposit', idempotencyKey, accountId, amountNanoUsd, source, reason, fingerprint };
}

/** Returns the operation of an Adjust. */
export function adjustOperation(request: AdjustRequest): AdjustOperation {
  const idempotencyKey = checkedIdempotencyKey(request.idempotencyKey);
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const amountNanoUsd = checkedAmount('amount_nano_usd', request.amountNanoUsd, -amountNanoUsdMax);
  if (amountNanoUsd === 0n) throw fieldFault('amount_nano_usd', 'nonzero');
  const reason = checkedReason(request.reason, { required: true });
  const linkedEntryId = request.linkedEntryId === '' ? undefined : request.linkedEntryId;
  const { expectedReversibleNanoUsd: expectedLeftNanoUsd } = request;
  if (expectedLeftNanoUsd !== undefined && linkedEntryId === undefined)
    throw invalidField('expected_reversible_nano_usd', 'empty without linked_entry_id');
  const { paymentRefund: isPaymentRefund = false } = request;
  if (isPaymentRefund && amountNanoUsd > 0n) throw invalidField('amount_nano_usd', 'negative for a payment refund');
  if (isPaymentRefund && linkedEntryId === undefined) throw invalidField('linked_entry_id', 'set for a payment refund');
  // The expectation is left out: it may have changed before a retry.
  const refund = isPaymentRefund ? ['payment refund'] : [];
  const fingerprint = fingerprintOf(['adjust', amountNanoUsd, reason, request.linkedEntryId, ...refund]);
  return {
    kind: 'adjust',
    idempotencyKey,
    accountId,
    amountNanoUsd,
    reason,
    linkedEntryId,
    expectedLeftNanoUsd,
    isPaymentRefund,
    fingerprint,
  };
}

/** Returns the operation of a Reverse. `entry` is the entry that it names. */
export function reverseOperation(request: ReverseRequest, entry: Entry): RefundOperation | ReverseOperation | ReverseRefundOperation {
  const { entryId, ...fields } = request;
  const holdId = entry.reference;
  if (entry.kind === EntryKind.ENTRY_KIND_CHARGE)
    return { ...refundOperation({ ...fields, holdId, chargeEntryId: entryId }), charge: entry };
  if (entry.kind === EntryKind.ENTRY_KIND_SHORTFALL) throw fault('nothing_to_reverse', {});
  if (entry.kind === EntryKind.ENTRY_KIND_CHARGE_CORRECTION) throw fault('correction_irreversible', {});
  if (entry.kind === EntryKind.ENTRY_KIND_REFUND_REVERSAL) throw fault('reversal_irreversible', { id: holdId });
  const idempotencyKey = checkedIdempotencyKey(request.idempotencyKey);
  const { accountId } = entry;
  const amountNanoUsd = request.amountNanoUsd === undefined ? undefined : checkedAmount('amount_nano_usd', request.amountNanoUsd, 1n);
  const reason = checkedReason(request.reason, { required: true });
  const fingerprint = fingerprintOf(['reverse', entry.id, amountNanoUsd ?? 'all', reason]);
  const reversal = { idempotencyKey, accountId, entry, amountNanoUsd, reason, fingerprint };
  return entry.kind === EntryKind.ENTRY_KIND_REFUND ? { kind: 'reverse_refund', holdId, ...reversal } : { kind: 'reverse', ...reversal };
}

/** Returns the operation of a Refund. */
export function refundOperation(request: RefundRequest): RefundOperation {
  const idempotencyKey = checkedIdempotencyKey(request.idempotencyKey);
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const holdId = checkedId('hold_id', 'req', request.holdId);
  const amountNanoUsd = request.amountNanoUsd === undefined ? undefined : checkedAmount('amount_nano_usd', request.amountNanoUsd, 1n);
  const reason = checkedReason(request.reason, { required: true });
  const charge = request.chargeEntryId === undefined ? [] : [request.chargeEntryId];
  const fingerprint = fingerprintOf(['refund', holdId, amountNanoUsd ?? 'all', reason, ...charge]);
  return { kind: 'refund', idempotencyKey, accountId, holdId, amountNanoUsd, reason, fingerprint };
}
