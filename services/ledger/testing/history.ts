// Runs a random history on books and on the reference model. Every response and every row must be what the model predicts.
import assert from 'node:assert/strict';
import { BookAccount, EntryKind, HoldState } from '#proto/ledger/v1/ledger.js';
import type { Operation } from '../books/model.js';
import { budgetOfText } from '../budgets/budget-text.js';
import type { AccountRows, Books, Outcome } from './books.js';
import { type History, newNames } from './commands.js';
import { Facts } from './facts.js';
import { type Answer, type Line, ReferenceLedger } from './reference-model.js';

/** Runs a history, and throws where books and model differ or a promise is broken. Returns the resulting rows. */
export async function runHistory(books: Books, { unit, startMs, steps }: History): Promise<readonly AccountRows[]> {
  const names = newNames(unit);
  const reference = new ReferenceLedger();
  const facts = new Facts();
  let nowMs = startMs;

  const send = async (operations: readonly Operation[], crash?: 'before' | 'after'): Promise<void> => {
    if (operations.length === 0) return;
    const outcomes = await books.execute(operations, nowMs, crash);
    outcomes?.forEach((outcome, index) => {
      const operation = operations[index]!;
      const answer = answerOf(operation, outcome);
      const expected = reference.apply(operation, nowMs);
      if (!isSame(answer, expected)) assert.deepEqual(answer, expected, `the answer to ${operation.kind}`);
      facts.note(operation, outcome);
    });
  };

  for (const step of steps) {
    nowMs += step.pauseMs;
    const operations = step.commands
      .map((build) => build(names, nowMs, (accountId) => reference.journal(accountId)))
      .filter((operation) => operation !== undefined);
    if (step.restarted) await books.restart();
    if (step.crash !== undefined) await send(operations, step.crash);
    await send(operations.slice(0, step.cut));
    await send(operations.slice(step.cut));
    if (step.repeated) await send(operations);
  }
  const rows = await books.rows(names.accounts, names.holds);
  for (const ofAccount of rows) {
    facts.check(ofAccount);
    compare(ofAccount, reference);
  }
  return rows;
}

const stateNames = new Map([
  [HoldState.HOLD_STATE_OPEN, 'open'],
  [HoldState.HOLD_STATE_SETTLED, 'settled'],
  [HoldState.HOLD_STATE_RELEASED, 'released'],
  [HoldState.HOLD_STATE_EXPIRED, 'expired'],
]);

/** Returns the outcome in the terms of the reference model. */
function answerOf(operation: Operation, outcome: Outcome): Answer {
  if (outcome.refusal !== undefined) {
    const { reason, details, retryAfterMs } = outcome.refusal;
    return reason === 'budget_reached'
      ? { refused: reason, budget: details['budget_id'], isHeld: retryAfterMs !== undefined }
      : { refused: reason };
  }
  const { reply } = outcome;
  if ('renewed' in reply) return { renewed: reply.renewed };
  if ('entry' in reply) return { creditedAfter: reply.balance.creditedNanoUsd, replayed: reply.replayed };
  if (reply.hold === undefined) return {};
  const { state, capturedNanoUsd: captured, shortfallNanoUsd: shortfall, amountNanoUsd: amount } = reply.hold;
  return {
    state: stateNames.get(state),
    captured,
    shortfall,
    ...(operation.kind === 'hold' ? { amount } : {}),
    ...('replayed' in reply ? { replayed: reply.replayed } : {}),
  };
}

/** Does the same as `deepEqual` on answers, which are flat, in a tenth of the time. */
function isSame(one: Answer, other: Answer): boolean {
  const keys = Object.keys(one) as (keyof Answer)[];
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}

const kindNames = new Map<EntryKind, Line['kind']>([
  [EntryKind.ENTRY_KIND_DEPOSIT, 'deposit'],
  [EntryKind.ENTRY_KIND_ADJUSTMENT, 'adjustment'],
  [EntryKind.ENTRY_KIND_PAYMENT_REFUND, 'payment refund'],
  [EntryKind.ENTRY_KIND_PAYMENT_REFUND_REVERSAL, 'payment refund reversal'],
  [EntryKind.ENTRY_KIND_CHARGE, 'charge'],
  [EntryKind.ENTRY_KIND_CHARGE_CORRECTION, 'correction'],
  [EntryKind.ENTRY_KIND_REFUND, 'refund'],
  [EntryKind.ENTRY_KIND_REFUND_REVERSAL, 'reversal'],
  [EntryKind.ENTRY_KIND_SHORTFALL, 'shortfall'],
]);

/** Checks that the balances and the journal equal those of the model. */
function compare({ accountId, account, keys, budgets, entries }: AccountRows, reference: ReferenceLedger): void {
  assert.equal(account?.creditedNanoUsd ?? 0n, reference.credited(accountId), 'credited');
  assert.equal(account?.spentNanoUsd ?? 0n, reference.spent(accountId), 'spent');
  assert.equal(account?.heldNanoUsd ?? 0n, reference.held(accountId), 'held');
  for (const key of keys) {
    assert.equal(key.spentNanoUsd, reference.spent(accountId, key.keyId), 'spent of a key');
    assert.equal(key.heldNanoUsd, reference.held(accountId, key.keyId), 'held of a key');
  }
  const stored = new Map<string, readonly [spent: bigint, held: bigint]>();
  for (const bucket of budgets) {
    const { budgetId, start } = budgetOfText(bucket.budgetText);
    stored.set(`${budgetId} ${start}`, [bucket.spentNanoUsd, bucket.heldNanoUsd]);
  }
  assert.equal(stored.size, budgets.length, 'a budget has two buckets for one period');
  for (const name of new Set([...stored.keys(), ...reference.budgetPeriods(accountId)])) {
    const expected = [reference.budgetSpent(accountId, name), reference.budgetHeld(accountId, name)];
    assert.deepEqual(stored.get(name) ?? [0n, 0n], expected, 'spent and held of a budget');
  }
  const lines = entries.map((entry): Line => ({
    kind: entry.debit === BookAccount.BOOK_ACCOUNT_PROMOTION ? 'promotion' : kindNames.get(entry.kind)!,
    amount:
      entry.kind === EntryKind.ENTRY_KIND_ADJUSTMENT && entry.debit === BookAccount.BOOK_ACCOUNT_CUSTOMER
        ? -entry.amountNanoUsd
        : entry.amountNanoUsd,
    about: entry.reference,
    keyId: entry.keyId,
    corrects: entry.linkedEntryId === '' ? 0 : Number(`0x${entry.linkedEntryId.slice(-16)}`),
  }));
  assert.deepEqual(lines, reference.journal(accountId), 'the journal');
}
