// Books in memory, for running many histories through the pure rules.
import assert from 'node:assert/strict';
import type { Entry } from '#proto/ledger/v1/ledger.js';
import { correctedSeq, correctionsAmong } from '../books/corrections.js';
import type { AccountBucket, BudgetBucket, HoldRecord, KeyBucket, Operation, OperationRecord } from '../books/model.js';
import { type Rows, WorkingSet } from '../lane/working-set.js';
import type { Books } from './books.js';

interface Stored {
  readonly account: Map<string, AccountBucket>;
  readonly keys: Map<string, KeyBucket>;
  readonly budgets: Map<string, BudgetBucket>;
  readonly holds: Map<string, HoldRecord>;
  readonly operations: Map<string, OperationRecord>;
}

/** Creates books that apply the pure rules to maps. Rows are written back and reloaded when the writer restarts, as by a transaction. */
export function memoryBooks(): Books {
  const accounts = new Map<string, Stored>();
  const entries: Entry[] = [];
  let current = new WorkingSet();

  function begin(): WorkingSet {
    const set = new WorkingSet();
    for (const [accountId, { account, keys, budgets, holds, operations }] of accounts) {
      const rows = set.of(accountId);
      for (const row of account.values()) rows.account.load(accountId, row);
      for (const row of keys.values()) rows.keys.load(row.keyId, row);
      for (const row of budgets.values()) rows.budgets.load(row.scopeId, row);
      for (const row of holds.values()) rows.holds.load(row.id, row);
      for (const row of operations.values()) rows.operations.load(row.idempotencyKey, row);
    }
    return set;
  }

  function commit(): void {
    for (const rows of current.accounts()) {
      const none = { account: new Map(), keys: new Map(), budgets: new Map(), holds: new Map(), operations: new Map() };
      const stored = accounts.get(rows.accountId) ?? none;
      keep(rows.account, stored.account, (row) => row.accountId);
      keep(rows.keys, stored.keys, (row) => row.keyId);
      keep(rows.budgets, stored.budgets, (row) => row.scopeId);
      keep(rows.holds, stored.holds, (row) => row.id);
      keep(rows.operations, stored.operations, (row) => row.idempotencyKey);
      accounts.set(rows.accountId, stored);
    }
    entries.push(...current.entries);
    current = begin();
  }

  function loadCorrections(operation: Operation): void {
    const { accountId } = operation;
    const seq = correctedSeq(operation);
    const { corrections, linked } = current.of(accountId);
    if (seq === undefined || corrections.has(seq)) return;
    const written = [...entries, ...current.entries].filter((entry) => entry.accountId === accountId && entry.seq >= seq);
    corrections.set(seq, correctionsAmong(seq, written));
    if (written[0]?.seq === seq) linked.set(seq, written[0]);
  }

  return {
    async execute(batch, nowMs, crash) {
      if (crash !== undefined) commit();
      const outcomes = batch.map((operation) => {
        loadCorrections(operation);
        return current.apply(operation, nowMs);
      });
      if (crash === 'before') current = begin();
      return crash === 'before' ? undefined : outcomes;
    },
    async restart() {
      commit();
    },
    async rows(accountIds) {
      commit();
      return accountIds.map((accountId) => {
        const stored = accounts.get(accountId);
        return {
          accountId,
          account: stored?.account.get(accountId),
          keys: [...(stored?.keys.values() ?? [])],
          budgets: [...(stored?.budgets.values() ?? [])],
          holds: [...(stored?.holds.values() ?? [])],
          entries: entries.filter((entry) => entry.accountId === accountId),
        };
      });
    },
  };
}

/** Stores changed rows as a transaction would: a new row must not exist yet, and a changed one must exist. */
function keep<T>(rows: Rows<T>, stored: Map<string, T>, nameOf: (row: T) => string): void {
  rows.eachChanged(
    (row) => {
      assert(!stored.has(nameOf(row)), 'A row is inserted twice.');
      stored.set(nameOf(row), row);
    },
    (row) => {
      assert(stored.has(nameOf(row)), 'A row is updated that is not there.');
      stored.set(nameOf(row), row);
    },
  );
}
