// The data that the ledger's rules work with: buckets, holds, operations, and the changes of an operation. Plain data, never mutated.
import type { AuditRecord } from '#kit/audit/audit-event.js';
import type { AppError } from '#client/errors/app-error.js';
import type { BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import type { Balance, DepositSource, Entry, HoldState } from '#proto/ledger/v1/ledger.js';

/** Holds an account's money. */
export interface AccountBucket {
  readonly accountId: string;
  /** All credits so far, less downward adjustments and payment refunds. */
  readonly creditedNanoUsd: bigint;
  /** Captured, less what was refunded. */
  readonly spentNanoUsd: bigint;
  /** Set aside for open holds. */
  readonly heldNanoUsd: bigint;
  /** Number of the account's last journal entry; 0 before the first. */
  readonly seq: bigint;
  /** The sums from which monthly statements are computed. */
  readonly sums: MonthSums;
  /** Months that began since the account was loaded; undefined for none. */
  readonly openings?: readonly MonthOpening[] | undefined;
}

/** Holds what an account's journal adds up to, besides what is credited and spent. */
export interface MonthSums {
  /** The month of the last entry; see months.ts. */
  readonly month: number;
  /** Sum of all deposits, less payment refunds. What is credited beyond it comes from adjustments. */
  readonly depositedNanoUsd: bigint;
  /** Sum of all refunds, including those of late settlements. This plus what is spent equals all charges. */
  readonly refundedNanoUsd: bigint;
}

/** Holds the account's sums at the beginning of a month that has an entry. */
export interface MonthOpening {
  readonly month: number;
  /** Number of the month's first entry. */
  readonly firstSeq: bigint;
  readonly creditedNanoUsd: bigint;
  readonly spentNanoUsd: bigint;
  readonly depositedNanoUsd: bigint;
  readonly refundedNanoUsd: bigint;
}

/** Holds a key's lifetime spend and the limit it is compared with. */
export interface KeyBucket {
  readonly accountId: string;
  readonly keyId: string;
  readonly spentNanoUsd: bigint;
  readonly heldNanoUsd: bigint;
  /** Undefined: no limit. May be lower than what is spent and held; then nothing more is available. */
  readonly limitNanoUsd: bigint | undefined;
  /** The version of the key that set the limit; -1 before any is known. */
  readonly limitVersion: bigint;
}

/** Describes a budget in one period. */
export interface PeriodBudget {
  readonly budgetId: string;
  readonly scope: BudgetScope;
  /** The account, project or key. */
  readonly ownerId: string;
  readonly period: BudgetPeriod;
  /** The first day of the period, such as 20261101; 0 for a lifetime. */
  readonly start: number;
  /** The account's zone at the last hold. */
  readonly timeZone: string;
  readonly limitNanoUsd: bigint;
  readonly isSoft: boolean;
  /** Shares of the limit at which an alert is sent, ascending. */
  readonly alertPercents: readonly number[];
}

/** Holds a budget on the path of a hold, as the caller knows it. */
export interface PathBudget extends PeriodBudget {
  /** Names the bucket: derived from the budget and the period. */
  readonly scopeId: string;
  readonly version: bigint;
}

/** Holds what a budget has spent in one period. */
export interface BudgetBucket {
  readonly accountId: string;
  readonly scopeId: string;
  readonly spentNanoUsd: bigint;
  readonly heldNanoUsd: bigint;
  /** Undefined for a soft budget, which refuses nothing. May be lower than what is spent and held; then nothing more is available. */
  readonly limitNanoUsd: bigint | undefined;
  readonly limitVersion: bigint;
  /** The budget by its highest version, as JSON (see budget-text.ts): most operations do not need it. */
  readonly budgetText: string;
  /** The spend at which the next alert is due; undefined for none. */
  readonly alertAtNanoUsd: bigint | undefined;
  /** The part of the spend whose entries are archived. */
  readonly archivedNanoUsd: bigint;
}

/** Holds an alert that a budget's spend has made due. */
export interface DueAlert {
  readonly accountId: string;
  readonly scopeId: string;
  readonly percent: number;
  readonly spentNanoUsd: bigint;
  readonly atMs: number;
}

/** Holds one hold as it is stored. */
export interface HoldRecord {
  readonly id: string;
  readonly accountId: string;
  /** Undefined for a tombstone: a hold that was released before it arrived. */
  readonly keyId: string | undefined;
  readonly amountNanoUsd: bigint;
  /** The highest cost recorded so far, at most the amount. */
  readonly checkpointNanoUsd: bigint;
  readonly capturedNanoUsd: bigint;
  readonly shortfallNanoUsd: bigint;
  readonly state: HoldState;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** Fingerprint of the parameters of Hold; undefined when no Hold created the record (a tombstone, or the settlement of a lost hold). */
  readonly fingerprint: string | undefined;
  /** Number of the last journal entry about this hold; 0 for none. */
  readonly lastSeq: bigint;
  /** Refunded amount; at most what was captured. */
  readonly refundedNanoUsd: bigint;
  /** Number of its last charge; 0 for none. */
  readonly chargeSeq: bigint;
  /** The buckets of the budgets on its path. They stay the same however late the hold ends, so a call counts in the period in which it was held. */
  readonly budgets: readonly string[];
}

/** Holds a deposit, adjustment, refund or reversal that was executed, found by its idempotency key. */
export interface OperationRecord {
  readonly accountId: string;
  readonly idempotencyKey: string;
  readonly fingerprint: string;
  readonly entry: Entry;
}

/**
 * Holds what the beginning of a journal adds up to, from which a rebuild continues when its entries are archived. Amounts are decimal digits, for storing;
 * `holds` has only those with more entries to come.
 */
export interface RebuildSums {
  readonly seq: string;
  readonly credited: string;
  readonly spent: string;
  readonly keys: Readonly<Record<string, string>>;
  readonly books: Readonly<Record<string, string>>;
  readonly holds: Readonly<
    Record<string, { readonly captured: string; readonly shortfall: string; readonly refunded: string; readonly seqs: readonly string[] }>
  >;
}

/** Holds one account's row, its keys and its open holds as of one instant. */
export interface AccountSnapshot {
  /** Undefined if nothing was ever written about this account. */
  readonly account: AccountBucket | undefined;
  readonly keys: readonly KeyBucket[];
  readonly budgets: readonly BudgetBucket[];
  readonly openHolds: readonly HoldRecord[];
  /** Number of the last entry that the journal has or had; 0 for none. */
  readonly lastSeq: bigint;
  /** The sums of the archived beginning of its journal; undefined while none of it is archived. */
  readonly base?: RebuildSums | undefined;
  /** The account's months, oldest first; undefined if they were not read. */
  readonly openings?: readonly MonthOpening[] | undefined;
}

/** Holds a hold that disagrees with the entry it names as its last. */
export interface UnexplainedHold {
  readonly hold: HoldRecord;
  /** Whether its last entry exists and belongs to it, or it rightly has none. */
  readonly hasItsEntry: boolean;
}

interface OfHold {
  readonly accountId: string;
  readonly holdId: string;
}

export interface HoldOperation extends OfHold {
  readonly kind: 'hold';
  readonly keyId: string;
  readonly limitNanoUsd: bigint | undefined;
  readonly limitVersion: bigint;
  readonly amountNanoUsd: bigint;
  readonly minAmountNanoUsd: bigint;
  readonly ttlMs: number;
  readonly fingerprint: string;
  /** In the order in which they refuse. */
  readonly budgets: readonly PathBudget[];
  /** Whether the reply reports how much of the project's budgets is spent. */
  readonly withProjectShare?: boolean | undefined;
}

export interface CheckpointOperation extends OfHold {
  readonly kind: 'checkpoint';
  readonly costSoFarNanoUsd: bigint;
  readonly ttlMs: number;
}

export interface SettleOperation extends OfHold {
  readonly kind: 'settle';
  readonly costNanoUsd: bigint;
  /** Undefined when the caller did not give one. */
  readonly keyId: string | undefined;
  /** Whether the caller has the record of the call, as metering does. If the ledger does not know the hold of a recorded call, the database lost it. */
  readonly isRecorded: boolean;
}

export interface ReleaseOperation extends OfHold {
  readonly kind: 'release';
}

export interface ExpireOperation extends OfHold {
  readonly kind: 'expire';
  /** Only a hold whose expiry is at or before this instant is ended. */
  readonly expiredAtMs: number;
}

/** Describes what an operation did, for the audit log; called once it is done, and not for a repeat. */
type OperationAudit = (reply: CreditReply) => AuditRecord;

interface Credit {
  readonly accountId: string;
  readonly idempotencyKey: string;
  /** Fingerprint of all parameters. */
  readonly fingerprint: string;
  readonly amountNanoUsd: bigint;
  readonly reason: string;
  readonly audit?: OperationAudit;
}

export interface DepositOperation extends Credit {
  readonly kind: 'deposit';
  readonly source: DepositSource;
}

export interface AdjustOperation extends Credit {
  readonly kind: 'adjust';
  /** The entry that is adjusted. */
  readonly linkedEntryId: string | undefined;
  /** How much must be left of the entry that is adjusted; undefined for any amount. */
  readonly expectedLeftNanoUsd?: bigint | undefined;
  /** Whether the amount was returned to the payer of the entry that is adjusted. */
  readonly isPaymentRefund?: boolean | undefined;
}

export interface RefundOperation extends OfHold {
  readonly kind: 'refund';
  readonly idempotencyKey: string;
  /** Fingerprint of all parameters. */
  readonly fingerprint: string;
  /** Undefined to refund all that is left of the charge. */
  readonly amountNanoUsd: bigint | undefined;
  /** The charge that is refunded, if the caller named one of the call's charges. */
  readonly charge?: CorrectedEntry | undefined;
  readonly reason: string;
  readonly audit?: OperationAudit;
}

/** The entry that an operation corrects. */
export type CorrectedEntry = Pick<Entry, 'id' | 'seq' | 'kind' | 'debit' | 'credit' | 'amountNanoUsd'>;

/** Holds what an entry's corrections add up to: the later entries that are linked to it or to another of its corrections. */
export interface Corrections {
  /** Their numbers, ascending. */
  readonly seqs: readonly bigint[];
  /** What they add to (or, negative, take from) the balance. */
  readonly effectNanoUsd: bigint;
}

interface Reversal {
  readonly accountId: string;
  readonly idempotencyKey: string;
  /** Fingerprint of all parameters. */
  readonly fingerprint: string;
  /** The entry that is reversed. */
  readonly entry: CorrectedEntry;
  /** Undefined to reverse all that is left of the entry. */
  readonly amountNanoUsd: bigint | undefined;
  readonly reason: string;
  readonly audit?: OperationAudit;
}

/** Reverses an entry that is not of a hold. */
export interface ReverseOperation extends Reversal {
  readonly kind: 'reverse';
}

/** Reverses a refund of the hold. */
export interface ReverseRefundOperation extends OfHold, Reversal {
  readonly kind: 'reverse_refund';
}

/** Any operation that changes the books. */
export type Operation =
  | HoldOperation
  | CheckpointOperation
  | SettleOperation
  | ReleaseOperation
  | ExpireOperation
  | DepositOperation
  | AdjustOperation
  | RefundOperation
  | ReverseOperation
  | ReverseRefundOperation;

/** Holds the current hold, and whether this id had been executed before. */
export interface HoldReply {
  readonly hold: HoldRecord;
  readonly replayed: boolean;
  /** Of the project's budgets, the one that is spent to the largest share. */
  readonly projectShare?: BudgetShare | undefined;
}

/** Holds how much of a budget is spent. */
export interface BudgetShare {
  readonly budget: PathBudget;
  /** Of the limit, rounded down. */
  readonly spentPercent: number;
}

/** Holds the entry written with the resulting balance, and whether this idempotency key had been executed before. */
export interface CreditReply {
  readonly entry: Entry;
  readonly balance: Balance;
  readonly replayed: boolean;
}

interface Replies {
  hold: HoldReply;
  checkpoint: { readonly renewed: boolean };
  settle: HoldReply;
  /** Undefined hold: it was unknown, and a tombstone was stored. */
  release: { readonly hold: HoldRecord | undefined };
  /** Undefined hold: it was not open or not expired, and was left unchanged. */
  expire: { readonly hold: HoldRecord | undefined };
  deposit: CreditReply;
  adjust: CreditReply;
  refund: CreditReply;
  reverse: CreditReply;
  reverse_refund: CreditReply;
}

/** The reply to an operation. */
export type ReplyTo<O extends Operation> = Replies[O['kind']];

/** Holds the rows that one operation reads and may change; undefined for rows that do not exist yet. */
export interface Touched {
  readonly account: AccountBucket | undefined;
  /** The key that the operation names or that its hold belongs to. */
  readonly key: KeyBucket | undefined;
  /** The existing buckets of the budgets that the operation names or on the path of its hold. */
  readonly budgets: readonly BudgetBucket[];
  readonly hold: HoldRecord | undefined;
  /** What was executed before under the operation's idempotency key. */
  readonly record: OperationRecord | undefined;
  /** The entry to which an adjustment is linked; undefined if it is linked to none, or to one that is archived. */
  readonly linked?: CorrectedEntry | undefined;
  /** The corrections of the entry that the operation corrects; undefined if it names none. */
  readonly corrections?: Corrections | undefined;
  /** Holds created before this may be archived, and are then unknown; undefined when none can be, or the operation's hold is known. */
  readonly archivedUntilMs?: number | undefined;
}

/** Holds the new values of the rows that changed, and the entries to append to the journal. */
export interface Changes {
  readonly account?: AccountBucket;
  readonly key?: KeyBucket;
  readonly budgets?: readonly BudgetBucket[];
  readonly dueAlerts?: readonly DueAlert[];
  readonly hold?: HoldRecord;
  readonly record?: OperationRecord;
  readonly entries?: readonly Entry[];
}

/** The outcome of one operation. A refusal may carry changes too: a newer key limit or budget is kept even when the hold is refused. */
export type Applied<R> = { readonly changes: Changes } & (
  | { readonly reply: R; readonly refusal?: undefined }
  | { readonly refusal: AppError }
);

/** Returns the outcome of an operation that was executed. */
export function done<R>(reply: R, changes: Changes = {}): Applied<R> {
  return { reply, changes };
}

/** Returns the outcome of an operation that was refused. */
export function refused(refusal: AppError, changes: Changes = {}): Applied<never> {
  return { refusal, changes };
}
