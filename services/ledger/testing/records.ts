// Rows for tests of the pure rules, with the fields that do not matter filled in.
import { BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import { DepositSource, HoldState } from '#proto/ledger/v1/ledger.js';
import type {
  AccountBucket,
  AdjustOperation,
  DepositOperation,
  HoldOperation,
  HoldRecord,
  KeyBucket,
  PathBudget,
  RefundOperation,
  SettleOperation,
  Touched,
} from '../books/model.js';
import { noSums } from '../statements/months.js';

export const nowMs = 1_800_000_000_000;
export const accountId = `acct_${'a'.repeat(32)}`;
export const keyId = `key_${'b'.repeat(32)}`;
export const holdId = `req_${'c'.repeat(32)}`;

export function account(fields: Partial<AccountBucket> = {}): AccountBucket {
  return { accountId, creditedNanoUsd: 1_000n, spentNanoUsd: 0n, heldNanoUsd: 0n, seq: 1n, sums: noSums, ...fields };
}

export function key(fields: Partial<KeyBucket> = {}): KeyBucket {
  return { accountId, keyId, spentNanoUsd: 0n, heldNanoUsd: 0n, limitNanoUsd: undefined, limitVersion: 1n, ...fields };
}

export function hold(fields: Partial<HoldRecord> = {}): HoldRecord {
  return {
    id: holdId,
    accountId,
    keyId,
    amountNanoUsd: 100n,
    checkpointNanoUsd: 0n,
    capturedNanoUsd: 0n,
    shortfallNanoUsd: 0n,
    state: HoldState.HOLD_STATE_OPEN,
    createdAtMs: nowMs - 10_000,
    expiresAtMs: nowMs + 50_000,
    fingerprint: 'f1',
    lastSeq: 0n,
    refundedNanoUsd: 0n,
    chargeSeq: 0n,
    budgets: [],
    ...fields,
  };
}

/** Returns a monthly budget of the account on the path of a hold; `number` distinguishes budgets. */
export function budget(number: number, fields: Partial<PathBudget> = {}): PathBudget {
  return {
    scopeId: String(number).repeat(32),
    budgetId: `bud_${String(number).repeat(32)}`,
    scope: BudgetScope.BUDGET_SCOPE_ACCOUNT,
    ownerId: accountId,
    period: BudgetPeriod.BUDGET_PERIOD_MONTH,
    start: 20270101,
    timeZone: 'Asia/Shanghai',
    limitNanoUsd: 1_000n,
    isSoft: false,
    alertPercents: [],
    version: 1n,
    ...fields,
  };
}

/** Returns an account and key that have the hold's amount set aside while it is open. */
export function touched(record: HoldRecord | undefined, fields: Partial<Touched> = {}): Touched {
  const heldNanoUsd = record?.state === HoldState.HOLD_STATE_OPEN ? record.amountNanoUsd : 0n;
  const spentNanoUsd = record?.capturedNanoUsd ?? 0n;
  return {
    account: account({ heldNanoUsd, spentNanoUsd, seq: 9n }),
    key: key({ heldNanoUsd, spentNanoUsd }),
    budgets: [],
    hold: record,
    record: undefined,
    ...fields,
  };
}

export function holdOperation(fields: Partial<HoldOperation> = {}): HoldOperation {
  return {
    kind: 'hold',
    accountId,
    holdId,
    keyId,
    limitNanoUsd: undefined,
    limitVersion: 1n,
    amountNanoUsd: 100n,
    minAmountNanoUsd: 40n,
    ttlMs: 60_000,
    fingerprint: 'f1',
    budgets: [],
    ...fields,
  };
}

export function settleOperation(costNanoUsd: bigint, fields: Partial<SettleOperation> = {}): SettleOperation {
  return { kind: 'settle', accountId, holdId, costNanoUsd, keyId, isRecorded: true, ...fields };
}

export function depositOperation(amountNanoUsd: bigint, fields: Partial<DepositOperation> = {}): DepositOperation {
  const source = DepositSource.DEPOSIT_SOURCE_CASH;
  return { kind: 'deposit', accountId, idempotencyKey: 'pay-1', fingerprint: 'd1', amountNanoUsd, reason: '', source, ...fields };
}

export function adjustOperation(amountNanoUsd: bigint, fields: Partial<AdjustOperation> = {}): AdjustOperation {
  return {
    kind: 'adjust',
    accountId,
    idempotencyKey: 'fix-1',
    fingerprint: 'a1',
    amountNanoUsd,
    reason: 'why',
    linkedEntryId: undefined,
    ...fields,
  };
}

export function refundOperation(amountNanoUsd: bigint | undefined, fields: Partial<RefundOperation> = {}): RefundOperation {
  return { kind: 'refund', accountId, holdId, idempotencyKey: 'back-1', fingerprint: 'r1', amountNanoUsd, reason: 'why', ...fields };
}

/** A hold that was released before it arrived. */
export const tombstone = hold({ keyId: undefined, state: HoldState.HOLD_STATE_RELEASED, amountNanoUsd: 0n, fingerprint: undefined });

/** A hold that was ended at a checkpoint of 60. */
export const expired = hold({ state: HoldState.HOLD_STATE_EXPIRED, checkpointNanoUsd: 60n, capturedNanoUsd: 60n, lastSeq: 9n });
