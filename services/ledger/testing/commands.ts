// Random commands to a ledger, and histories of them: a few accounts, keys and calls that interact repeatedly.
import fc from 'fast-check';
import { newId } from '#kit/id.js';
import { type Budget, BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import { BookAccount, DepositSource, EntryKind } from '#proto/ledger/v1/ledger.js';
import { fingerprintOf } from '../books/fingerprint.js';
import { entryId, type Posting } from '../books/journal.js';
import type { Operation } from '../books/model.js';
import { pathOf } from '../budgets/path.js';
import type { Crash } from './books.js';
import type { Line } from './reference-model.js';

/** Holds the values that a history's numbers map to, so that it can be shrunk and run again with new ids. */
export interface Names {
  readonly accounts: readonly string[];
  readonly keys: readonly string[];
  readonly holds: readonly string[];
  readonly budgets: readonly string[];
  readonly project: string;
  /** The value of one unit of an amount. */
  readonly unit: bigint;
}

/** The journal of an account so far. */
type JournalOf = (accountId: string) => readonly Line[];

/** An operation that lacks only its names and its instant; undefined if it reverses an entry that does not exist. */
type Command = (names: Names, nowMs: number, journalOf: JournalOf) => Operation | undefined;

/** Holds operations that arrive together, after a pause. */
interface Step {
  /** Below zero: the clock of another machine is behind. */
  readonly pauseMs: number;
  /** The writer is replaced first. */
  readonly restarted: boolean;
  /** The writer dies during the operations, which are then sent again. */
  readonly crash: Crash | undefined;
  /** Sent twice, as after a lost response. */
  readonly repeated: boolean;
  /** How many of the operations share the first transaction; the rest share another. */
  readonly cut: number;
  readonly commands: readonly Command[];
}

/** Holds a whole history. */
export interface History {
  readonly unit: bigint;
  readonly startMs: number;
  readonly steps: readonly Step[];
}

const accountCount = 2;
const keyCount = 2;
const holdCount = 6;
const creditCount = 4;
const refundCount = 8;

/** The budgets that a hold can have, in another order than the one in which they refuse. */
const budgetKinds = [
  { scope: BudgetScope.BUDGET_SCOPE_ACCOUNT, period: BudgetPeriod.BUDGET_PERIOD_DAY },
  { scope: BudgetScope.BUDGET_SCOPE_PROJECT, period: BudgetPeriod.BUDGET_PERIOD_WEEK },
  { scope: BudgetScope.BUDGET_SCOPE_ACCOUNT, period: BudgetPeriod.BUDGET_PERIOD_LIFETIME },
  { scope: BudgetScope.BUDGET_SCOPE_PROJECT, period: BudgetPeriod.BUDGET_PERIOD_MONTH },
  { scope: BudgetScope.BUDGET_SCOPE_KEY, period: BudgetPeriod.BUDGET_PERIOD_DAY },
  { scope: BudgetScope.BUDGET_SCOPE_KEY, period: BudgetPeriod.BUDGET_PERIOD_MONTH },
] as const;

/** Returns new names for one run of a history. */
export function newNames(unit: bigint): Names {
  const make = (prefix: string, count: number): string[] => Array.from({ length: count }, () => newId(prefix));
  return {
    accounts: make('acct', accountCount),
    keys: make('key', keyCount),
    holds: make('req', holdCount),
    budgets: make('bud', budgetKinds.length),
    project: newId('proj'),
    unit,
  };
}

interface HoldName {
  readonly account: number;
  readonly hold: number;
}

// Most of a history concerns one account, so that its holds interact.
const accountNumber = fc.constantFrom(0, 0, 0, 1);
const keyNumber = fc.constantFrom(0, 0, 0, 1);
const holdName = fc.record({ account: accountNumber, hold: fc.nat(holdCount - 1) });
// Few units, so that balances and limits are often met exactly, missed by one or exceeded.
const units = (max: number, min = 0): fc.Arbitrary<number> => fc.integer({ min, max });
const ttlMs = fc.constantFrom(1_000, 1_000, 5_000, 60_000);
// So large that a number would round it, and that two deposits can exceed what an account may hold.
const unit = fc.constantFrom(1n, 1n, 1n, 70_000_000_000_000_003n);

const amountOf = ({ unit: one }: Names, count: number): bigint => BigInt(count) * one;
const named = (names: Names, name: HoldName): { accountId: string; holdId: string } => ({
  accountId: names.accounts[name.account]!,
  holdId: names.holds[name.hold]!,
});

/** The budgets of a hold, by their kinds: none for some holds, else up to all. */
const budgetsOfHold: fc.Arbitrary<readonly { kind: number; limit: number; version: number; soft: boolean }[]> = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.subarray([...budgetKinds.keys()], { minLength: 1 }),
        fc.array(fc.record({ limit: units(120), version: units(3), soft: fc.constantFrom(false, false, false, true) }), {
          minLength: budgetKinds.length,
          maxLength: budgetKinds.length,
        }),
      )
      .map(([kinds, all]) => kinds.map((kind) => ({ kind, ...all[kind]! }))),
  },
);
const timeZone = fc.constantFrom('', '', 'Asia/Shanghai', 'America/New_York');

const hold = (of: fc.Arbitrary<HoldName>): fc.Arbitrary<Command> =>
  fc
    .record({
      name: of,
      key: keyNumber,
      least: units(30),
      more: units(30),
      ttlMs,
      limit: fc.option(units(120), { nil: undefined, freq: 3 }),
      version: units(3),
      budgets: budgetsOfHold,
      timeZone,
    })
    .map(({ name, key, least, more, ttlMs: ttl, limit, version, budgets, timeZone: zone }) => (names, nowMs) => ({
      kind: 'hold',
      ...named(names, name),
      keyId: names.keys[key]!,
      limitNanoUsd: limit === undefined ? undefined : amountOf(names, limit),
      limitVersion: BigInt(version),
      amountNanoUsd: amountOf(names, least === 0 ? 0 : least + more),
      minAmountNanoUsd: amountOf(names, least),
      ttlMs: ttl,
      fingerprint: fingerprintOf([key, least, more, ttl]),
      budgets: pathOf(
        budgets.map((each): Budget => {
          const { scope, period } = budgetKinds[each.kind]!;
          const owners = {
            [BudgetScope.BUDGET_SCOPE_ACCOUNT]: names.accounts[name.account]!,
            [BudgetScope.BUDGET_SCOPE_PROJECT]: names.project,
          };
          return {
            id: names.budgets[each.kind]!,
            scope,
            scopeId: scope === BudgetScope.BUDGET_SCOPE_KEY ? names.keys[key]! : owners[scope],
            period,
            limitNanoUsd: BigInt(each.limit),
            soft: each.soft,
            alertPercents: [50, 100, 150],
            version: BigInt(each.version),
          };
        }),
        zone,
        nowMs,
      ).map((budget) => ({ ...budget, limitNanoUsd: budget.limitNanoUsd * names.unit })),
    }));

const checkpoint = (of: fc.Arbitrary<HoldName>): fc.Arbitrary<Command> =>
  fc.record({ name: of, cost: units(60), ttlMs }).map(({ name, cost, ttlMs: ttl }) => (names) => ({
    kind: 'checkpoint',
    ...named(names, name),
    costSoFarNanoUsd: amountOf(names, cost),
    ttlMs: ttl,
  }));

const settle = (of: fc.Arbitrary<HoldName>): fc.Arbitrary<Command> =>
  fc
    .record({
      name: of,
      cost: fc.oneof(units(80), units(20), fc.constant(0)),
      key: fc.option(keyNumber, { nil: undefined, freq: 8 }),
    })
    .map(({ name, cost, key }) => (names) => ({
      kind: 'settle',
      ...named(names, name),
      costNanoUsd: amountOf(names, cost),
      keyId: key === undefined ? undefined : names.keys[key],
      isRecorded: true,
    }));

const release = (of: fc.Arbitrary<HoldName>): fc.Arbitrary<Command> =>
  of.map((name) => (names) => ({ kind: 'release', ...named(names, name) }));

const expire = (of: fc.Arbitrary<HoldName>): fc.Arbitrary<Command> =>
  of.map((name) => (names, nowMs) => ({ kind: 'expire', ...named(names, name), expiredAtMs: nowMs }));

const deposit = fc
  .record({ account: accountNumber, key: fc.nat(creditCount - 1), amount: units(90, 1), promotion: fc.boolean() })
  .map(({ account, key, amount, promotion }): Command => (names) => ({
    kind: 'deposit',
    accountId: names.accounts[account]!,
    idempotencyKey: `credit-${key}`,
    fingerprint: fingerprintOf(['deposit', amount, String(promotion)]),
    amountNanoUsd: amountOf(names, amount),
    source: promotion ? DepositSource.DEPOSIT_SOURCE_PROMOTION : DepositSource.DEPOSIT_SOURCE_CASH,
    reason: '',
  }));

const adjust = fc
  .record({
    account: accountNumber,
    key: fc.nat(creditCount - 1),
    amount: units(50, 1),
    down: fc.boolean(),
    link: fc.option(fc.record({ account: accountNumber, seq: fc.nat(6) }), { nil: undefined }),
  })
  .map(({ account, key, amount, down, link }): Command => (names) => ({
    kind: 'adjust',
    accountId: names.accounts[account]!,
    idempotencyKey: `credit-${key}`,
    fingerprint: fingerprintOf(['adjust', amount, String(down), JSON.stringify(link ?? null)]),
    amountNanoUsd: amountOf(names, down ? -amount : amount),
    reason: 'random',
    linkedEntryId: link === undefined ? undefined : entryId(names.accounts[link.account]!, BigInt(link.seq)),
  }));

const refund = (of: fc.Arbitrary<HoldName>): fc.Arbitrary<Command> =>
  fc
    .record({ name: of, key: fc.nat(refundCount - 1), amount: fc.option(units(40, 1), { nil: undefined, freq: 3 }) })
    .map(({ name, key, amount }) => (names) => ({
      kind: 'refund',
      ...named(names, name),
      // The first of these keys is also the last one of deposits and adjustments, so that the two can collide.
      idempotencyKey: `credit-${creditCount - 1 + key}`,
      fingerprint: fingerprintOf(['refund', name.hold, amount ?? 'all']),
      amountNanoUsd: amount === undefined ? undefined : amountOf(names, amount),
      reason: 'random',
    }));

const customer = BookAccount.BOOK_ACCOUNT_CUSTOMER;

/** The kind and the books of the entries that can be reversed. */
const reversible = new Map<Line['kind'], Posting>([
  ['deposit', { kind: EntryKind.ENTRY_KIND_DEPOSIT, debit: BookAccount.BOOK_ACCOUNT_CASH, credit: customer }],
  ['promotion', { kind: EntryKind.ENTRY_KIND_DEPOSIT, debit: BookAccount.BOOK_ACCOUNT_PROMOTION, credit: customer }],
  ['adjustment', { kind: EntryKind.ENTRY_KIND_ADJUSTMENT, debit: BookAccount.BOOK_ACCOUNT_ADJUSTMENT, credit: customer }],
  ['payment refund', { kind: EntryKind.ENTRY_KIND_PAYMENT_REFUND, debit: customer, credit: BookAccount.BOOK_ACCOUNT_CASH }],
  [
    'payment refund reversal',
    { kind: EntryKind.ENTRY_KIND_PAYMENT_REFUND_REVERSAL, debit: BookAccount.BOOK_ACCOUNT_CASH, credit: customer },
  ],
  ['charge', { kind: EntryKind.ENTRY_KIND_CHARGE, debit: customer, credit: BookAccount.BOOK_ACCOUNT_REVENUE }],
  ['refund', { kind: EntryKind.ENTRY_KIND_REFUND, debit: BookAccount.BOOK_ACCOUNT_REFUND, credit: customer }],
]);

/** Prints the choice for a command whose operation depends on the journal, which a printed history does not have. */
const printedAs = (kind: string, choice: object, build: Command): Command =>
  Object.assign(build, { [fc.toStringMethod]: () => fc.stringify({ kind, ...choice }) });

const reverse = fc
  .record({
    account: accountNumber,
    back: fc.nat(5),
    key: fc.nat(1),
    amount: fc.option(units(40, 1), { nil: undefined, freq: 2 }),
  })
  .map((choice) => printedAs('reverse', choice, reverseOf(choice)));

interface Reversal {
  readonly account: number;
  /** How many entries before the last. */
  readonly back: number;
  readonly key: number;
  readonly amount: number | undefined;
}

function reverseOf({ account, back, key, amount }: Reversal): Command {
  return (names, _nowMs, journalOf) => {
    const accountId = names.accounts[account]!;
    const lines = journalOf(accountId);
    const seq = lines.length - back;
    const line = lines[seq - 1];
    const posting = line && reversible.get(line.kind);
    if (line === undefined || posting === undefined) return undefined;
    const { kind, debit, credit } = posting;
    const isDown = line.amount < 0n;
    const entry = {
      id: entryId(accountId, BigInt(seq)),
      seq: BigInt(seq),
      kind,
      debit: isDown ? credit : debit,
      credit: isDown ? debit : credit,
      amountNanoUsd: isDown ? -line.amount : line.amount,
    };
    const fields = {
      accountId,
      idempotencyKey: `reverse-${seq}-${key}`,
      fingerprint: fingerprintOf(['reverse', seq, amount ?? 'all']),
      amountNanoUsd: amount === undefined ? undefined : amountOf(names, amount),
      reason: 'random',
    };
    if (kind === EntryKind.ENTRY_KIND_CHARGE) return { kind: 'refund', holdId: line.about, charge: entry, ...fields };
    if (kind === EntryKind.ENTRY_KIND_REFUND) return { kind: 'reverse_refund', holdId: line.about, entry, ...fields };
    return { kind: 'reverse', entry, ...fields };
  };
}

/** Adjusts one of the last entries, or returns the money of the last deposit to a payer. */
const correct = fc
  .record({
    account: accountNumber,
    back: fc.nat(5),
    key: fc.nat(1),
    amount: units(40, 1),
    down: fc.boolean(),
    paymentRefund: fc.boolean(),
  })
  .map((choice) =>
    printedAs('correct', choice, (names, _nowMs, journalOf) => {
      const { account, back, key, amount, down, paymentRefund } = choice;
      const accountId = names.accounts[account]!;
      const lines = journalOf(accountId);
      const seq = paymentRefund ? lines.findLastIndex(({ kind }) => kind === 'deposit' || kind === 'promotion') + 1 : lines.length - back;
      if (seq < 1) return undefined;
      return {
        kind: 'adjust',
        accountId,
        idempotencyKey: `correct-${seq}-${key}`,
        fingerprint: fingerprintOf(['adjust', seq, amount, String(down), String(paymentRefund)]),
        amountNanoUsd: amountOf(names, down || paymentRefund ? -amount : amount),
        reason: 'random',
        linkedEntryId: entryId(accountId, BigInt(seq)),
        isPaymentRefund: paymentRefund,
      };
    }),
  );

const command = fc.oneof(
  { weight: 12, arbitrary: hold(holdName) },
  { weight: 6, arbitrary: checkpoint(holdName) },
  { weight: 5, arbitrary: settle(holdName) },
  { weight: 1, arbitrary: release(holdName) },
  { weight: 5, arbitrary: expire(holdName) },
  { weight: 3, arbitrary: deposit },
  { weight: 1, arbitrary: adjust },
  { weight: 4, arbitrary: refund(holdName) },
  { weight: 5, arbitrary: reverse },
  { weight: 3, arbitrary: correct },
);

const surroundings = {
  // Some pauses end just when a time to live does, and some turn the periods of budgets.
  pauseMs: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(0, 0, 900, 1_000, 6_000, -1_500) },
    { weight: 1, arbitrary: fc.constantFrom(86_400_000, 604_800_000) },
  ),
  restarted: fc.constantFrom(false, false, false, false, false, false, false, true),
  crash: fc.oneof({ weight: 10, arbitrary: fc.constant(undefined) }, { weight: 2, arbitrary: fc.constantFrom<Crash[]>('before', 'after') }),
  repeated: fc.constantFrom(false, false, true),
  cut: fc.nat(6),
};
const batch = fc.record({ ...surroundings, commands: fc.array(command, { minLength: 1, maxLength: 6 }) });

/** Returns a step for each command, in this order, which single random commands would seldom produce. */
const inOrder = (...commands: readonly fc.Arbitrary<Command>[]): fc.Arbitrary<Step[]> =>
  fc
    .tuple(...commands)
    .chain((chosen) => fc.tuple(...chosen.map((single) => fc.record({ ...surroundings, commands: fc.constant([single]) }))));

/** The steps of one call. */
const life = holdName.chain((name) => {
  const one = fc.constant(name);
  return inOrder(hold(one), checkpoint(one), fc.oneof(expire(one), release(one), checkpoint(one)), settle(one), refund(one));
});

/** A refund is reversed while another call holds money, or a payment is corrected and reversed. */
const reversed = fc.oneof(inOrder(hold(holdName), reverse, reverse), inOrder(deposit, correct, reverse, reverse));

/** Instants shortly before a month turns (in UTC, in Shanghai) and before the clocks of New York go forward and back, and an ordinary one. */
const starts = [
  1_800_000_000_000,
  Date.parse('2027-03-31T23:59:58Z'),
  Date.parse('2027-02-28T15:59:58Z'),
  Date.parse('2027-03-14T06:59:58Z'),
  Date.parse('2027-11-07T03:59:58Z'),
];

/** A first deposit, then call lifecycles and batches of anything. */
export const histories: fc.Arbitrary<History> = fc
  .record({
    unit,
    startMs: fc.constantFrom(...starts),
    first: deposit,
    parts: fc.array(
      fc.oneof(
        { weight: 3, arbitrary: batch.map((single): Step[] => [single]) },
        { weight: 3, arbitrary: life },
        { weight: 1, arbitrary: reversed },
      ),
      { minLength: 2, maxLength: 6, size: 'large' },
    ),
  })
  .map(({ unit: one, startMs, first, parts }) => {
    const steps = [{ pauseMs: 0, restarted: false, crash: undefined, repeated: false, cut: 0, commands: [first] }, ...parts.flat()];
    return { unit: one, startMs, steps, [fc.toStringMethod]: () => textOf({ unit: one, startMs, steps }) };
  });

/** Formats a history for a failure message: one step per line, its operations with readable names. */
function textOf({ unit: one, startMs, steps }: History): string {
  const names: Names = newNames(one);
  return steps
    .map(
      ({ commands, ...around }) =>
        `\n  ${fc.stringify(around)}${commands.map((build) => `\n    ${fc.stringify(build(names, startMs, () => []) ?? build)}`).join('')}`,
    )
    .join('');
}
