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
import { rowKey, WorkingSet } from '../working-set.js';

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
      for (const [key, row] of accounts) set.accounts.load(key, row);
      for (const [key, row] of keys) set.keys.load(key, row);
      for (const [key, row] of holds) set.holds.load(key, row);
      for (const [key, row] of operations) set.operations.load(key, row);
      const outcomes = batch.map((operation) => set.apply(operation, nowMs));
      for (const row of [...set.accounts.inserted(), ...set.accounts.updated()]) accounts.set(row.accountId, row);
      for (const row of [...set.keys.inserted(), ...set.keys.updated()]) keys.set(rowKey(row.accountId, row.keyId), row);
      for (const row of [...set.holds.inserted(), ...set.holds.updated()]) holds.set(rowKey(row.accountId, row.id), row);
      for (const row of set.operations.inserted()) operations.set(rowKey(row.accountId, row.idempotencyKey), row);
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
