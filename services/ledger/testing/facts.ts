// Invariants of the books, independent of the rules and the reference model: facts are recorded from what callers received,
// and when a history is over each hold, key and account is checked against them individually. Shares no code with the rules.
import assert from 'node:assert/strict';
import { BookAccount, type Entry, HoldState } from '#proto/ledger/v1/ledger.js';
import type { Operation } from '../books/model.js';
import { budgetOfText } from '../budgets/budget-text.js';
import { Rebuild } from '../verify/rebuild.js';
import type { AccountRows, Outcome } from './books.js';

type StoredHold = AccountRows['holds'][number];

/** Holds what callers know of one hold. */
interface Known {
  granted?: { amount: bigint; keyId: string; budgets: readonly string[] };
  /** The highest cost that was recorded, at most the amount. */
  checkpoint: bigint;
  settledCost?: bigint;
  /** The amount refunded. */
  refunded: bigint;
  /** The hold as the last response showed it. */
  last?: StoredHold;
}

const { HOLD_STATE_OPEN, HOLD_STATE_SETTLED, HOLD_STATE_RELEASED, HOLD_STATE_EXPIRED } = HoldState;
const { BOOK_ACCOUNT_CUSTOMER, BOOK_ACCOUNT_REVENUE, BOOK_ACCOUNT_REFUND, BOOK_ACCOUNT_SHORTFALL_EXPENSE, BOOK_ACCOUNT_ADJUSTMENT } =
  BookAccount;

/** Holds what callers received in one history. */
export class Facts {
  private readonly holds = new Map<string, Known>();
  /** The highest alert of each bucket. */
  private readonly alerts = new Map<string, number>();
  private readonly credits = new Map<string, { readonly accountId: string; readonly amount: bigint; readonly entry: Entry }>();

  /** Records one outcome, and throws when it is impossible by itself or contradicts an earlier one. */
  note(operation: Operation, outcome: Outcome): void {
    const { account, key, budgets = [], dueAlerts = [], hold: changed, entries = [] } = outcome.changes;
    if (account !== undefined) {
      const { creditedNanoUsd, spentNanoUsd, heldNanoUsd } = account;
      assert(spentNanoUsd >= 0n && heldNanoUsd >= 0n && spentNanoUsd + heldNanoUsd <= creditedNanoUsd, 'an account is below zero');
    }
    const isWithinLimit = [key, ...budgets].every(
      (bucket) => bucket?.limitNanoUsd === undefined || bucket.spentNanoUsd + bucket.heldNanoUsd <= bucket.limitNanoUsd,
    );
    for (const { accountId, scopeId, percent } of dueAlerts) {
      const alerted = this.alerts.get(`${accountId} ${scopeId}`) ?? 0;
      assert(percent > alerted, 'an alert is due twice');
      this.alerts.set(`${accountId} ${scopeId}`, percent);
    }
    for (const { accountId, scopeId, spentNanoUsd, budgetText } of budgets) {
      const { limitNanoUsd, alertPercents } = budgetOfText(budgetText);
      const reached = alertPercents.filter((percent) => spentNanoUsd > 0n && spentNanoUsd * 100n >= limitNanoUsd * BigInt(percent));
      assert((this.alerts.get(`${accountId} ${scopeId}`) ?? 0) >= (reached.at(-1) ?? 0), 'an alert is missing');
    }
    if (outcome.refusal !== undefined) {
      assert(account === undefined && changed === undefined && entries.length === 0, 'a refusal moved money');
      return;
    }
    const { reply } = outcome;
    if ('entry' in reply) {
      assert('idempotencyKey' in operation);
      const isOfHold = operation.kind === 'refund' || operation.kind === 'reverse_refund';
      const { amountNanoUsd: amount, credit } = reply.entry;
      const credited = credit === BOOK_ACCOUNT_CUSTOMER ? amount : -amount;
      const isNew = this.noteCredit(operation.accountId, operation.idempotencyKey, isOfHold ? 0n : credited, reply);
      const wanted = operation.amountNanoUsd ?? amount;
      if (isNew) assert(amount === (wanted < 0n ? -wanted : wanted), 'another amount was booked');
      if (!isOfHold || !isNew) return;
      const refunded = this.knownOf(operation.accountId, operation.holdId);
      refunded.refunded += credited;
      assert(refunded.refunded >= 0n, 'more was taken back than was refunded');
      assert(refunded.last !== undefined && refunded.refunded <= refunded.last.capturedNanoUsd, 'more was refunded than was captured');
      return;
    }
    assert('holdId' in operation);
    const known = this.knownOf(operation.accountId, operation.holdId);
    if ('renewed' in reply) {
      assert(
        operation.kind === 'checkpoint' && account === undefined && key === undefined && entries.length === 0,
        'a checkpoint moved money',
      );
      if (reply.renewed) known.checkpoint = highest(known.checkpoint, lowest(operation.costSoFarNanoUsd, known.granted?.amount ?? 0n));
      return;
    }
    if ('replayed' in reply && reply.replayed) {
      assert.deepEqual(outcome.changes, {}, 'a replay changed something');
      if (known.last !== undefined) assert.deepEqual(lasting(reply.hold), lasting(known.last), 'a replay returned a different hold');
      return;
    }
    if (operation.kind === 'hold') {
      assert(reply.hold !== undefined && known.granted === undefined, 'a hold was granted twice');
      const { amountNanoUsd: amount } = reply.hold;
      assert(amount >= operation.minAmountNanoUsd && amount <= operation.amountNanoUsd, 'a hold has another amount');
      // A limit may be lowered below what is spent; a hold of zero is granted all the same.
      assert(isWithinLimit || amount === 0n, 'a hold exceeds the limit of its key');
      known.granted = { amount, keyId: operation.keyId, budgets: operation.budgets.map(({ scopeId }) => scopeId) };
    }
    if (operation.kind === 'settle') {
      assert(reply.hold !== undefined && known.settledCost === undefined, 'a hold was settled twice');
      assert.equal(
        reply.hold.capturedNanoUsd + reply.hold.shortfallNanoUsd,
        operation.costNanoUsd,
        'captured and shortfall are not the cost',
      );
      const ownNanoUsd = known.last?.state === HOLD_STATE_OPEN ? known.last.amountNanoUsd : (known.last?.capturedNanoUsd ?? 0n);
      assert(reply.hold.capturedNanoUsd <= ownNanoUsd || isWithinLimit, 'an excess exceeds the limit of the key');
      known.settledCost = operation.costNanoUsd;
    }
    if (reply.hold !== undefined) known.last = reply.hold;
  }

  /** Throws when what is stored about an account differs from what callers received, or is inconsistent. */
  check(rows: AccountRows): void {
    const { accountId, account, keys, budgets, holds, entries } = rows;
    checkBooks(entries);
    for (const hold of holds)
      checkHold(
        hold,
        this.knownOf(accountId, hold.id),
        entries.filter((entry) => entry.reference === hold.id),
      );
    for (const [name, { granted, settledCost }] of this.holds) {
      const wasReported = granted !== undefined || settledCost !== undefined;
      if (wasReported && name.startsWith(accountId))
        assert(
          holds.some(({ id }) => name.endsWith(id)),
          'a hold that was returned is gone',
        );
    }
    let credited = 0n;
    for (const { accountId: of, amount, entry } of this.credits.values()) {
      if (of !== accountId) continue;
      credited += amount;
      assert(
        entries.some(
          ({ seq, reference, amountNanoUsd }) =>
            seq === entry.seq && reference === entry.reference && amountNanoUsd === entry.amountNanoUsd,
        ),
        'a credit that was returned is gone',
      );
    }
    assert.equal(account?.creditedNanoUsd ?? 0n, credited, 'the credited amount of an account');
    assert.equal(account?.spentNanoUsd ?? 0n, sum(holds.map(spentOn)), 'the spent amount of an account');
    assert.equal(account?.heldNanoUsd ?? 0n, sum(holds.filter(isOpen).map((hold) => hold.amountNanoUsd)), 'the held amount of an account');
    for (const key of keys) {
      const own = holds.filter((hold) => hold.keyId === key.keyId);
      assert.equal(key.spentNanoUsd, sum(own.map(spentOn)), 'the spent amount of a key');
      assert.equal(key.heldNanoUsd, sum(own.filter(isOpen).map((hold) => hold.amountNanoUsd)), 'the held amount of a key');
    }
    for (const { scopeId, spentNanoUsd, heldNanoUsd } of budgets) {
      const own = holds.filter((hold) => this.knownOf(accountId, hold.id).granted?.budgets.includes(scopeId));
      assert.equal(spentNanoUsd, sum(own.map(spentOn)), 'the spent amount of a budget');
      assert.equal(heldNanoUsd, sum(own.filter(isOpen).map((hold) => hold.amountNanoUsd)), 'the held amount of a budget');
    }
    assert.deepEqual(driftsOf(rows), [], 'the drifts that Verify finds');
  }

  /** Reports whether the credit was executed now rather than replayed. */
  private noteCredit(accountId: string, idempotencyKey: string, amount: bigint, reply: { entry: Entry; replayed: boolean }): boolean {
    const name = `${accountId} ${idempotencyKey}`;
    const first = this.credits.get(name);
    if (reply.replayed) {
      if (first !== undefined) assert.deepEqual(reply.entry, first.entry, 'a replay returned another entry');
      return false;
    }
    assert(first === undefined, 'a credit was executed twice');
    this.credits.set(name, { accountId, amount, entry: reply.entry });
    return true;
  }

  private knownOf(accountId: string, holdId: string): Known {
    const name = `${accountId} ${holdId}`;
    const known = this.holds.get(name) ?? { checkpoint: 0n, refunded: 0n };
    this.holds.set(name, known);
    return known;
  }
}

/** Returns what Verify would list about these rows. */
export function driftsOf({ accountId, account, keys, budgets, holds, entries }: AccountRows): readonly unknown[] {
  const rebuild = new Rebuild(accountId);
  for (const entry of entries)
    rebuild.add(
      entry,
      holds.find((hold) => hold.id === entry.reference),
    );
  rebuild.compare({ account, keys, budgets, openHolds: holds.filter(isOpen), lastSeq: BigInt(entries.length) });
  return rebuild.drifts;
}

/** Checks that debits equal credits, that numbers have no gap, and that no entry leaves a negative balance. */
function checkBooks(entries: readonly Entry[]): void {
  const books = new Map<BookAccount, bigint>();
  const post = (book: BookAccount, amount: bigint): void => void books.set(book, (books.get(book) ?? 0n) + amount);
  entries.forEach((entry, index) => {
    assert.equal(entry.seq, BigInt(index + 1), 'the number of an entry');
    assert(entry.amountNanoUsd > 0n && entry.debit !== entry.credit, 'an entry moves nothing');
    post(entry.debit, entry.amountNanoUsd);
    post(entry.credit, -entry.amountNanoUsd);
    const left = entry.creditedAfterNanoUsd - entry.spentAfterNanoUsd;
    assert.equal(-(books.get(BOOK_ACCOUNT_CUSTOMER) ?? 0n), left, 'the balance after an entry');
    assert(entry.heldAfterNanoUsd >= 0n && entry.heldAfterNanoUsd <= left, 'the balance after an entry is less than the held amount');
  });
  assert.equal(sum([...books.values()]), 0n, 'the sum of all books');
}

/** Checks that a hold agrees with what its callers received, and with its entries in the journal. */
function checkHold(hold: StoredHold, known: Known, entries: readonly Entry[]): void {
  const of = (debit: BookAccount, credit: BookAccount): bigint =>
    sum(entries.filter((entry) => entry.debit === debit && entry.credit === credit).map((entry) => entry.amountNanoUsd));
  const { state, capturedNanoUsd: captured, shortfallNanoUsd: shortfall } = hold;
  assert.equal(
    spentOn(hold),
    of(BOOK_ACCOUNT_CUSTOMER, BOOK_ACCOUNT_REVENUE) -
      of(BOOK_ACCOUNT_REVENUE, BOOK_ACCOUNT_CUSTOMER) -
      of(BOOK_ACCOUNT_REFUND, BOOK_ACCOUNT_CUSTOMER) +
      of(BOOK_ACCOUNT_CUSTOMER, BOOK_ACCOUNT_REFUND),
    'the entries of a hold',
  );
  assert.equal(hold.refundedNanoUsd, known.refunded, 'the refunded amount of a hold');
  assert.equal(shortfall, of(BOOK_ACCOUNT_SHORTFALL_EXPENSE, BOOK_ACCOUNT_REVENUE), 'the shortfall entries of a hold');
  assert(
    entries.every((entry) => entry.keyId === hold.keyId && entry.debit !== BOOK_ACCOUNT_ADJUSTMENT),
    'an entry of a hold is of another key',
  );
  assert.equal(hold.lastSeq, entries.at(-1)?.seq ?? 0n, 'the last entry of a hold');
  if (known.granted !== undefined) {
    assert.equal(hold.amountNanoUsd, known.granted.amount, 'the amount of a hold');
    assert.equal(hold.keyId, known.granted.keyId, 'the key of a hold');
    assert.deepEqual(hold.budgets, known.granted.budgets, 'the budgets of a hold');
  }
  assert.equal(hold.checkpointNanoUsd, known.checkpoint, 'the checkpoint of a hold');
  if (state === HOLD_STATE_OPEN) assert(captured === 0n && shortfall === 0n && known.settledCost === undefined, 'an open hold is charged');
  else if (state === HOLD_STATE_SETTLED) assert.equal(captured + shortfall, known.settledCost, 'a settled hold has another cost');
  else if (state === HOLD_STATE_RELEASED || state === HOLD_STATE_EXPIRED)
    assert(captured === known.checkpoint && shortfall === 0n, 'a hold ended at another cost');
  else assert.fail('a hold has an unknown state');
}

/** Returns the parts of a hold that no later operation but its end changes. */
function lasting({
  refundedNanoUsd: _refunded,
  lastSeq: _lastSeq,
  checkpointNanoUsd: _checkpoint,
  expiresAtMs: _expires,
  ...rest
}: StoredHold): unknown {
  return rest;
}

function spentOn(hold: StoredHold): bigint {
  return hold.capturedNanoUsd - hold.refundedNanoUsd;
}

function isOpen(hold: StoredHold): boolean {
  return hold.state === HOLD_STATE_OPEN;
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

function highest(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

function lowest(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
