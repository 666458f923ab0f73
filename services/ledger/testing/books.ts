// Books in memory, for running many histories through the pure rules. And books in a database, with the same face.
import type { Database } from '#kit/db/open.js';
import type { Entry, VerifyResponse_Drift } from '#proto/ledger/v1/ledger.js';
import { HoldState } from '#proto/ledger/v1/ledger.js';
import type { AccountBucket, AccountSnapshot, HoldRecord, KeyBucket, OperationRecord } from '../model.js';
import { driftOfHold, driftsMax, Rebuild } from '../rebuild.js';
import { Audit } from '../store/audit.js';
import { Reads } from '../store/reads.js';
import { createStore, type Executor } from '../store/store.js';
import { verifyAccount } from '../verify-account.js';
import { type Rows, WorkingSet } from '../working-set.js';

/** Books that operations can be executed on, and that can be looked into. */
export interface Books extends Executor {
  snapshot(accountId: string): Promise<AccountSnapshot>;
  /** What Verify finds wrong with the account. */
  drifts(accountId: string): Promise<readonly VerifyResponse_Drift[]>;
}

/** The real store and the real Verify over a database with the ledger's tables. */
export function databaseBooks(db: Database): Books {
  const reads = new Reads(db);
  const audit = new Audit(db);
  return {
    execute: createStore(db).execute,
    snapshot: (accountId) => reads.snapshot(accountId),
    drifts: async (accountId) => {
      const { rebuild } = await verifyAccount(accountId, { reads, audit });
      return [...rebuild.drifts, ...(await audit.unexplainedHolds(accountId, driftsMax)).map(driftOfHold)];
    },
  };
}

/** The pure rules over maps. */
export function memoryBooks(): Books {
  const accounts = new Map<string, AccountBucket>();
  const keys = new Map<string, KeyBucket>();
  const holds = new Map<string, HoldRecord>();
  const operations = new Map<string, OperationRecord>();
  const entries: Entry[] = [];

  const snapshot = async (accountId: string): Promise<AccountSnapshot> => ({
    account: accounts.get(accountId),
    keys: [...keys.values()].filter((key) => key.accountId === accountId),
    openHolds: [...holds.values()].filter((hold) => hold.accountId === accountId && hold.state === HoldState.HOLD_STATE_OPEN),
    lastSeq: BigInt(entries.filter((entry) => entry.accountId === accountId).length),
  });

  return {
    async execute(batch, nowMs) {
      const set = new WorkingSet();
      for (const row of accounts.values()) set.of(row.accountId).account.load(row.accountId, row);
      for (const row of keys.values()) set.of(row.accountId).keys.load(row.keyId, row);
      for (const row of holds.values()) set.of(row.accountId).holds.load(row.id, row);
      for (const row of operations.values()) set.of(row.accountId).operations.load(row.idempotencyKey, row);
      const outcomes = batch.map((operation) => set.apply(operation, nowMs));
      const keep = <T>(rows: Rows<T>, into: Map<string, T>, nameOf: (row: T) => string): void => {
        const put = (row: T) => void into.set(nameOf(row), row);
        rows.eachChanged(put, put);
      };
      for (const rows of set.accounts()) {
        keep(rows.account, accounts, (row) => row.accountId);
        keep(rows.keys, keys, (row) => rowKey(row.accountId, row.keyId));
        keep(rows.holds, holds, (row) => rowKey(row.accountId, row.id));
        keep(rows.operations, operations, (row) => rowKey(row.accountId, row.idempotencyKey));
      }
      entries.push(...set.entries);
      return outcomes;
    },
    snapshot,
    async drifts(accountId) {
      const rebuild = new Rebuild(accountId);
      for (const entry of entries) if (entry.accountId === accountId) rebuild.add(entry, holds.get(rowKey(accountId, entry.reference)));
      rebuild.compare(await snapshot(accountId));
      return rebuild.drifts;
    },
  };
}

/** The key of a row that belongs to an account. */
function rowKey(accountId: string, id: string): string {
  return `${accountId}/${id}`;
}
