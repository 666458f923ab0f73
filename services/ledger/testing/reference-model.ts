// A second, slow and simple ledger to compare the real one with. It keeps no sums: every figure is calculated each time from the holds
// and credits, so that it cannot share a bookkeeping mistake with the real one.
import { BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import { DepositSource } from '#proto/ledger/v1/ledger.js';
import type {
  AdjustOperation,
  CheckpointOperation,
  DepositOperation,
  ExpireOperation,
  HoldOperation,
  Operation,
  PathBudget,
  RefundOperation,
  ReleaseOperation,
  ReverseOperation,
  ReverseRefundOperation,
  SettleOperation,
} from '../books/model.js';

type State = 'open' | 'settled' | 'released' | 'expired';

interface ModelHold {
  readonly accountId: string;
  /** Undefined: a tombstone. */
  readonly keyId: string | undefined;
  /** What the Hold requested; undefined when there was none. */
  readonly requested: string | undefined;
  readonly amount: bigint;
  state: State;
  checkpoint: bigint;
  captured: bigint;
  shortfall: bigint;
  refunded: bigint;
  expiresAtMs: number;
  /** Number of the journal's last line about it. */
  lastLine: number;
  /** Number of its last charge. */
  chargeLine: number;
  /** The periods of its budgets. */
  readonly budgets: readonly string[];
}

/** Holds a line that the journal must have. */
export interface Line {
  readonly kind:
    | 'deposit'
    | 'promotion'
    | 'adjustment'
    | 'payment refund'
    | 'payment refund reversal'
    | 'charge'
    | 'correction'
    | 'refund'
    | 'reversal'
    | 'shortfall';
  /** How much the account's money goes up or down; for a shortfall, which costs the account nothing, what we pay. */
  readonly amount: bigint;
  readonly about: string;
  readonly keyId: string;
  /** Number of the line that it corrects; 0 for none. */
  readonly corrects: number;
}

/** The figures of a hold without journal entries. */
const unbooked = { captured: 0n, shortfall: 0n, refunded: 0n, lastLine: 0, chargeLine: 0, budgets: [] } as const;

/** Maximum sum of credits of an account. */
const creditedMax = 9_000_000_000_000_000_000n;

/** The reply to an operation, as far as the two ledgers are compared. */
export type Answer = { readonly refused: string } | Readonly<Record<string, bigint | string | boolean | undefined>>;

/** The slow ledger. */
export class ReferenceLedger {
  private readonly holds = new Map<string, ModelHold>();
  private readonly credits = new Map<string, { accountId: string; amount: bigint; requested: string; creditedAfter: bigint }>();
  private readonly limits = new Map<string, { limit: bigint | undefined; version: bigint }>();
  /** By account, budget and first day of the period. */
  private readonly budgets = new Map<string, { limit: bigint; soft: boolean; version: bigint }>();
  private readonly knownAccounts = new Set<string>();
  private readonly lines = new Map<string, Line[]>();

  apply(operation: Operation, nowMs: number): Answer {
    switch (operation.kind) {
      case 'hold':
        return this.hold(operation, nowMs);
      case 'checkpoint':
        return this.checkpoint(operation, nowMs);
      case 'settle':
        return this.settle(operation);
      case 'release':
        return this.release(operation);
      case 'expire':
        return this.expire(operation);
      case 'refund':
        return this.refund(operation);
      case 'reverse':
      case 'reverse_refund':
        return this.reverse(operation);
      default:
        return this.credit(operation);
    }
  }

  credited(accountId: string): bigint {
    return sum([...this.credits.values()].filter((credit) => credit.accountId === accountId).map((credit) => credit.amount));
  }

  spent(accountId: string, keyId?: string): bigint {
    return sum(this.holdsOf(accountId, keyId).map((hold) => hold.captured - hold.refunded));
  }

  held(accountId: string, keyId?: string): bigint {
    return sum(
      this.holdsOf(accountId, keyId)
        .filter((hold) => hold.state === 'open')
        .map((hold) => hold.amount),
    );
  }

  /** Returns the names of all periods of budgets in which the account has calls: the budget and the period's first day. */
  budgetPeriods(accountId: string): readonly string[] {
    return this.holdsOf(accountId).flatMap(({ budgets }) => budgets);
  }

  budgetSpent(accountId: string, period: string): bigint {
    return sum(this.holdsIn(accountId, period).map((hold) => hold.captured - hold.refunded));
  }

  budgetHeld(accountId: string, period: string): bigint {
    return sum(
      this.holdsIn(accountId, period)
        .filter((hold) => hold.state === 'open')
        .map((hold) => hold.amount),
    );
  }

  private holdsIn(accountId: string, period: string): ModelHold[] {
    return this.holdsOf(accountId).filter(({ budgets }) => budgets.includes(period));
  }

  /** Returns what is left of a hard budget; undefined for a soft one. */
  private budgetLeft(accountId: string, period: string): { withoutHeld: bigint; free: bigint } | undefined {
    const budget = this.budgets.get(`${accountId} ${period}`);
    if (budget === undefined || budget.soft) return undefined;
    // A limit may be lowered below the spend, which leaves nothing.
    const atLeastNothing = (amount: bigint): bigint => (amount < 0n ? 0n : amount);
    const left = budget.limit - this.budgetSpent(accountId, period);
    return { withoutHeld: atLeastNothing(left), free: atLeastNothing(left - this.budgetHeld(accountId, period)) };
  }

  /** Returns the journal of the account, from its first line. */
  journal(accountId: string): readonly Line[] {
    return this.lines.get(accountId) ?? [];
  }

  private write(accountId: string, line: Line): number {
    if (line.amount === 0n) return this.journal(accountId).length;
    this.lines.set(accountId, [...this.journal(accountId), line]);
    return this.journal(accountId).length;
  }

  private writeAbout(name: string, hold: ModelHold, line: Pick<Line, 'kind' | 'amount'>): void {
    if (line.amount === 0n) return;
    const corrects = line.kind === 'correction' ? hold.lastLine : 0;
    hold.lastLine = this.write(hold.accountId, { ...line, about: name.split(' ')[1]!, keyId: hold.keyId!, corrects });
    if (line.kind === 'charge') hold.chargeLine = hold.lastLine;
  }

  private holdsOf(accountId: string, keyId?: string): ModelHold[] {
    return [...this.holds.values()].filter((hold) => hold.accountId === accountId && (keyId === undefined || hold.keyId === keyId));
  }

  private available(accountId: string): bigint {
    return this.credited(accountId) - this.spent(accountId) - this.held(accountId);
  }

  private keyAvailable(accountId: string, keyId: string, limit: bigint | undefined): bigint | undefined {
    if (limit === undefined) return undefined;
    const left = limit - this.spent(accountId, keyId) - this.held(accountId, keyId);
    return left < 0n ? 0n : left;
  }

  private hold(operation: HoldOperation, nowMs: number): Answer {
    const { accountId, holdId, keyId, minAmountNanoUsd: minimum, amountNanoUsd: wanted } = operation;
    const requested = operation.fingerprint;
    const existing = this.holds.get(`${accountId} ${holdId}`);
    if (existing !== undefined) {
      if (existing.requested === undefined) return { refused: 'hold_closed' };
      if (existing.requested !== requested) return { refused: 'idempotency_mismatch' };
      return existing.state === 'released' ? { refused: 'hold_closed' } : { ...outcome(existing), amount: existing.amount, replayed: true };
    }
    const stored = this.limits.get(`${accountId} ${keyId}`) ?? { limit: undefined, version: -1n };
    const newer = operation.limitVersion > stored.version ? { limit: operation.limitNanoUsd, version: operation.limitVersion } : stored;
    if (this.knownAccounts.has(accountId)) this.limits.set(`${accountId} ${keyId}`, newer);
    const available = this.available(accountId);
    const keyAvailable = this.keyAvailable(accountId, keyId, newer.limit);
    const path = operation.budgets
      .map((budget) => ({ budget, period: periodAt(budget, nowMs) }))
      .sort((a, b) => order(a.budget) - order(b.budget));
    const before = path.map(({ period }) => [period, this.budgets.get(`${accountId} ${period}`)] as const);
    for (const { budget, period } of path) {
      const { version, limitNanoUsd: limit, isSoft: soft } = budget;
      if (version > (this.budgets.get(`${accountId} ${period}`)?.version ?? -1n))
        this.budgets.set(`${accountId} ${period}`, { limit, soft, version });
    }
    const remainders = path.map(({ budget, period }) => ({ budget, left: this.budgetLeft(accountId, period) }));
    const isKnown = this.knownAccounts.has(accountId);
    const refuse = (answer: Answer): Answer => {
      // An account that never had money keeps nothing.
      if (isKnown) return answer;
      for (const [period, budget] of before) {
        if (budget === undefined) this.budgets.delete(`${accountId} ${period}`);
      }
      return answer;
    };
    if (available + this.held(accountId) < minimum) return refuse({ refused: 'balance_empty' });
    if (keyAvailable !== undefined && keyAvailable < minimum) return refuse({ refused: 'key_limit_reached' });
    const spent = remainders.find(({ left }) => left !== undefined && left.withoutHeld < minimum);
    if (spent !== undefined) return refuse({ refused: 'budget_reached', budget: spent.budget.budgetId, isHeld: false });
    const busy = remainders.find(({ left }) => left !== undefined && left.free < minimum);
    if (busy !== undefined) return refuse({ refused: 'budget_reached', budget: busy.budget.budgetId, isHeld: true });
    if (available < minimum) return refuse({ refused: 'balance_held' });
    const amount = smallest(wanted, available, keyAvailable ?? wanted, ...remainders.map(({ left }) => left?.free ?? wanted));
    this.knownAccounts.add(accountId);
    this.limits.set(`${accountId} ${keyId}`, newer);
    const hold: ModelHold = {
      accountId,
      keyId,
      requested,
      amount,
      state: 'open',
      checkpoint: 0n,
      expiresAtMs: nowMs + operation.ttlMs,
      ...unbooked,
      budgets: path.map(({ period }) => period),
    };
    this.holds.set(`${accountId} ${holdId}`, hold);
    return { ...outcome(hold), amount, replayed: false };
  }

  private checkpoint(operation: CheckpointOperation, nowMs: number): Answer {
    const hold = this.holds.get(`${operation.accountId} ${operation.holdId}`);
    if (hold?.state !== 'open') return { renewed: false };
    const cost = smallest(operation.costSoFarNanoUsd, hold.amount);
    if (cost > hold.checkpoint) hold.checkpoint = cost;
    hold.expiresAtMs = Math.max(hold.expiresAtMs, nowMs + operation.ttlMs);
    return { renewed: true };
  }

  private settle(operation: SettleOperation): Answer {
    const { accountId, holdId, costNanoUsd: cost, keyId } = operation;
    const name = `${accountId} ${holdId}`;
    const found = this.holds.get(name);
    if (found === undefined && keyId === undefined) return { refused: 'invalid_request' };
    if (found?.keyId !== undefined && keyId !== undefined && found.keyId !== keyId) return { refused: 'idempotency_mismatch' };
    if (found?.state === 'released')
      return cost === 0n && found.captured === 0n ? { ...outcome(found), replayed: true } : { refused: 'hold_closed' };
    if (found?.state === 'settled') {
      return found.captured + found.shortfall === cost ? { ...outcome(found), replayed: true } : { refused: 'idempotency_mismatch' };
    }
    const hold: ModelHold = found ?? {
      accountId,
      keyId,
      requested: undefined,
      amount: 0n,
      state: 'expired',
      checkpoint: 0n,
      expiresAtMs: 0,
      ...unbooked,
    };
    // The cost is paid first with what the hold set aside or has captured, and then with what is free.
    const own = hold.state === 'open' ? hold.amount : hold.captured;
    const limit = this.limits.get(`${accountId} ${hold.keyId}`)?.limit;
    const frees = hold.budgets.map((period) => this.budgetLeft(accountId, period)?.free ?? cost);
    const free = smallest(this.available(accountId), this.keyAvailable(accountId, hold.keyId!, limit) ?? cost, ...frees);
    const before = hold.captured;
    hold.captured = smallest(cost, own + free);
    hold.shortfall = cost - hold.captured;
    hold.state = 'settled';
    this.holds.set(name, hold);
    this.knownAccounts.add(accountId);
    if (hold.captured < before) this.writeAbout(name, hold, { kind: 'correction', amount: before - hold.captured });
    else this.writeAbout(name, hold, { kind: 'charge', amount: hold.captured - before });
    this.writeAbout(name, hold, { kind: 'shortfall', amount: hold.shortfall });
    return { ...outcome(hold), replayed: false };
  }

  private release(operation: ReleaseOperation): Answer {
    const { accountId, holdId } = operation;
    const hold = this.holds.get(`${accountId} ${holdId}`);
    if (hold === undefined) {
      this.holds.set(`${accountId} ${holdId}`, {
        accountId,
        keyId: undefined,
        requested: undefined,
        amount: 0n,
        state: 'released',
        checkpoint: 0n,
        expiresAtMs: 0,
        ...unbooked,
      });
      this.knownAccounts.add(accountId);
      return {};
    }
    if (hold.keyId === undefined) return {};
    if (hold.state === 'open') this.endAtCheckpoint(`${accountId} ${holdId}`, hold, 'released');
    return outcome(hold);
  }

  private expire(operation: ExpireOperation): Answer {
    const name = `${operation.accountId} ${operation.holdId}`;
    const hold = this.holds.get(name);
    if (hold?.state !== 'open' || hold.expiresAtMs > operation.expiredAtMs) return {};
    this.endAtCheckpoint(name, hold, 'expired');
    return outcome(hold);
  }

  private refund(operation: RefundOperation): Answer {
    const { accountId, holdId, idempotencyKey, fingerprint: requested } = operation;
    const name = `${accountId} ${idempotencyKey}`;
    const existing = this.credits.get(name);
    if (existing !== undefined) {
      return existing.requested === requested
        ? { creditedAfter: existing.creditedAfter, replayed: true }
        : { refused: 'idempotency_mismatch' };
    }
    const hold = this.holds.get(`${accountId} ${holdId}`);
    if (hold?.keyId === undefined) return { refused: 'not_found' };
    const { charge } = operation;
    const leftOfCall = hold.captured - hold.refunded;
    const left = charge === undefined ? leftOfCall : smallest(leftOfCall, this.leftOf(accountId, Number(charge.seq)));
    const amount = operation.amountNanoUsd ?? left;
    if (hold.state === 'open' || hold.state === 'expired' || left === 0n || amount > left) return { refused: 'failed_precondition' };
    hold.refunded += amount;
    hold.lastLine = this.write(accountId, {
      kind: 'refund',
      amount,
      about: holdId,
      keyId: hold.keyId,
      corrects: Number(charge?.seq ?? hold.chargeLine),
    });
    const creditedAfter = this.credited(accountId);
    this.credits.set(name, { accountId, amount: 0n, requested, creditedAfter });
    return { creditedAfter, replayed: false };
  }

  private reverse(operation: ReverseOperation | ReverseRefundOperation): Answer {
    const { accountId, idempotencyKey, fingerprint: requested } = operation;
    const name = `${accountId} ${idempotencyKey}`;
    const existing = this.credits.get(name);
    if (existing !== undefined) {
      return existing.requested === requested
        ? { creditedAfter: existing.creditedAfter, replayed: true }
        : { refused: 'idempotency_mismatch' };
    }
    const corrects = Number(operation.entry.seq);
    const holdId = 'holdId' in operation ? operation.holdId : '';
    const hold = this.holds.get(`${accountId} ${holdId}`);
    const leftOfEntry = this.leftOf(accountId, corrects);
    const left = hold === undefined ? leftOfEntry : smallest(leftOfEntry, hold.refunded);
    const amount = operation.amountNanoUsd ?? left;
    if (left === 0n || amount > left) return { refused: 'failed_precondition' };
    const change = effect(this.journal(accountId)[corrects - 1]!) > 0n ? -amount : amount;
    if (this.available(accountId) + change < 0n) return { refused: 'balance_empty' };
    if (hold !== undefined) {
      hold.refunded -= amount;
      hold.lastLine = this.write(accountId, { kind: 'reversal', amount, about: holdId, keyId: hold.keyId!, corrects });
    } else {
      if (this.credited(accountId) + change > creditedMax) return { refused: 'failed_precondition' };
      const kind = reversalKind(this.journal(accountId)[corrects - 1]!.kind);
      this.write(accountId, { kind, amount: signed(kind, change), about: idempotencyKey, keyId: '', corrects });
    }
    const credited = hold === undefined ? change : 0n;
    const creditedAfter = this.credited(accountId) + credited;
    this.credits.set(name, { accountId, amount: credited, requested, creditedAfter });
    return { creditedAfter, replayed: false };
  }

  /** Returns how much of a line the lines that correct it have not taken back. */
  private leftOf(accountId: string, number: number): bigint {
    const line = this.journal(accountId)[number - 1]!;
    const net = this.netOf(accountId, number);
    const left = effect(line) < 0n ? -net : net;
    return left < 0n ? 0n : smallest(left, line.amount < 0n ? -line.amount : line.amount);
  }

  /** Returns what a line and those that correct it changed together. */
  private netOf(accountId: string, number: number): bigint {
    const lines = this.journal(accountId);
    return lines.reduce(
      (net, { corrects }, index) => (corrects === number ? net + this.netOf(accountId, index + 1) : net),
      effect(lines[number - 1]!),
    );
  }

  private endAtCheckpoint(name: string, hold: ModelHold, state: State): void {
    hold.captured = hold.checkpoint;
    hold.state = state;
    this.writeAbout(name, hold, { kind: 'charge', amount: hold.captured });
  }

  private credit(operation: DepositOperation | AdjustOperation): Answer {
    const { accountId, idempotencyKey, amountNanoUsd: amount, fingerprint: requested } = operation;
    const name = `${accountId} ${idempotencyKey}`;
    const existing = this.credits.get(name);
    if (existing !== undefined) {
      return existing.requested === requested
        ? { creditedAfter: existing.creditedAfter, replayed: true }
        : { refused: 'idempotency_mismatch' };
    }
    const corrects = operation.kind === 'adjust' ? this.numberOf(accountId, operation.linkedEntryId) : 0;
    if (corrects === undefined) return { refused: 'not_found' };
    const kind = kindOf(operation);
    if (kind === 'payment refund' && this.journal(accountId)[corrects - 1]!.kind !== 'deposit') return { refused: 'failed_precondition' };
    if (corrects > 0) {
      const corrected = effect(this.journal(accountId)[corrects - 1]!);
      const taken = corrected < 0n ? amount : -amount;
      if (corrected !== 0n && taken > this.leftOf(accountId, corrects)) return { refused: 'failed_precondition' };
    }
    if (this.available(accountId) + amount < 0n) return { refused: 'balance_empty' };
    const creditedAfter = this.credited(accountId) + amount;
    if (creditedAfter > creditedMax) return { refused: 'failed_precondition' };
    this.write(accountId, { kind, amount: signed(kind, amount), about: idempotencyKey, keyId: '', corrects });
    this.credits.set(name, { accountId, amount, requested, creditedAfter });
    this.knownAccounts.add(accountId);
    return { creditedAfter, replayed: false };
  }

  /** Returns the number of the line with this id: 0 for no id, undefined when it does not belong to this account. */
  private numberOf(accountId: string, entryId: string | undefined): number | undefined {
    if (entryId === undefined) return 0;
    const index = this.journal(accountId).findIndex(
      (_, at) => entryId === `ent_${accountId.slice(-16)}${(at + 1).toString(16).padStart(16, '0')}`,
    );
    return index < 0 ? undefined : index + 1;
  }
}

/** Returns how a line changes the account's money. */
function effect({ kind, amount }: Line): bigint {
  if (kind === 'shortfall') return 0n;
  return kind === 'charge' || kind === 'reversal' || kind === 'payment refund' ? -amount : amount;
}

/** Returns the amount of a line that changes what was credited: only that of an adjustment has a sign. */
function signed(kind: Line['kind'], change: bigint): bigint {
  return change < 0n && kind !== 'adjustment' ? -change : change;
}

/** Returns the kind of the line that reverses a line that is not about a call. */
function reversalKind(kind: Line['kind']): Line['kind'] {
  if (kind === 'payment refund') return 'payment refund reversal';
  return kind === 'payment refund reversal' ? 'payment refund' : 'adjustment';
}

function kindOf(operation: DepositOperation | AdjustOperation): Line['kind'] {
  if (operation.kind === 'adjust') return operation.isPaymentRefund === true ? 'payment refund' : 'adjustment';
  return operation.source === DepositSource.DEPOSIT_SOURCE_PROMOTION ? 'promotion' : 'deposit';
}

/** Returns the place of a budget in the order in which budgets refuse. */
function order({ scope, period }: PathBudget): number {
  const { BUDGET_SCOPE_KEY, BUDGET_SCOPE_PROJECT, BUDGET_SCOPE_ACCOUNT } = BudgetScope;
  const { BUDGET_PERIOD_LIFETIME, BUDGET_PERIOD_MONTH, BUDGET_PERIOD_WEEK, BUDGET_PERIOD_DAY } = BudgetPeriod;
  const periods = [BUDGET_PERIOD_LIFETIME, BUDGET_PERIOD_MONTH, BUDGET_PERIOD_WEEK, BUDGET_PERIOD_DAY] as const;
  return [BUDGET_SCOPE_KEY, BUDGET_SCOPE_PROJECT, BUDGET_SCOPE_ACCOUNT].indexOf(scope) * periods.length + periods.indexOf(period as 1);
}

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

const formats = new Map<string, Intl.DateTimeFormat>();

function localDate(timeZone: string, nowMs: number): [weekday: string, date: string] {
  let format = formats.get(timeZone);
  if (format === undefined) {
    const fields = { weekday: 'short', year: 'numeric', month: '2-digit', day: '2-digit' } as const;
    format = new Intl.DateTimeFormat('en-CA', { ...fields, timeZone: timeZone === '' ? 'UTC' : timeZone });
    formats.set(timeZone, format);
  }
  // "Mon, 2026-11-23", with or without a dot.
  const [weekday, date] = format.format(nowMs).split(', ') as [string, string];
  return [weekday.slice(0, 3), date];
}

/** Returns the name of the period of a budget at an instant: the budget and the period's first day. */
function periodAt({ budgetId, period, timeZone }: PathBudget, nowMs: number): string {
  if (period === BudgetPeriod.BUDGET_PERIOD_LIFETIME) return `${budgetId} 0`;
  const [weekday, date] = localDate(timeZone, nowMs);
  if (period === BudgetPeriod.BUDGET_PERIOD_DAY) return `${budgetId} ${date.replaceAll('-', '')}`;
  if (period === BudgetPeriod.BUDGET_PERIOD_MONTH) return `${budgetId} ${date.slice(0, 7).replace('-', '')}01`;
  const monday = new Date(Date.parse(date) - weekdays.indexOf(weekday) * 86_400_000).toISOString().slice(0, 10);
  return `${budgetId} ${monday.replaceAll('-', '')}`;
}

function outcome(hold: ModelHold): Answer {
  return { state: hold.state, captured: hold.captured, shortfall: hold.shortfall };
}

function sum(amounts: bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

function smallest(...amounts: bigint[]): bigint {
  return amounts.reduce((least, amount) => (amount < least ? amount : least));
}
