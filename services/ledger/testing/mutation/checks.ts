// The checks that a broken ledger must fail, each on the same histories every time.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { migrate } from '#kit/db/migrations/migrate.js';
import { createTestDatabase } from '#kit/testing/database.js';
import { BookAccount, DepositSource, EntryKind, type HoldRequest, HoldState } from '#proto/ledger/v1/ledger.js';
import { migrations } from '../../migrations/index.js';
import { adjustOperation, depositOperation, holdOperation, refundOperation } from '../../requests/operations.js';
import type { AccountRows, Books } from '../books.js';
import { histories } from '../commands.js';
import { driftsOf } from '../facts.js';
import { runHistory } from '../history.js';
import { LaneBooks } from '../lane-books.js';
import { memoryBooks } from '../memory-books.js';

const seed = 20;

async function run(books: () => Books, numRuns: number, look: (rows: AccountRows) => void = () => undefined): Promise<void> {
  const property = fc.asyncProperty(histories, async (history) => (await runHistory(books(), history)).forEach(look));
  const details = await fc.check(property, { numRuns, seed, endOnFailure: true });
  if (details.failed) throw details.errorInstance;
}

/** The checks of a ledger. */
export const checks = {
  /** Checks the rules against the reference model. */
  async model() {
    await run(memoryBooks, 2_000);
  },

  /** Checks loading and writing against the reference model, on SQLite. */
  async store() {
    const { db, drop } = await createTestDatabase('sqlite');
    try {
      await migrate(db, migrations);
      await db.knex.raw('PRAGMA synchronous = OFF');
      await run(() => new LaneBooks(db, false), 60);
    } finally {
      await drop();
    }
  },

  /** Checks that Verify finds every corrupted figure. */
  async verify() {
    const unseen = new Set(corruptions.keys());
    await run(memoryBooks, 60, (rows) => {
      for (const [name, corrupt] of corruptions) {
        const corrupted = corrupt(rows);
        if (corrupted === undefined) continue;
        assert(driftsOf(corrupted).length > 0, `it is not found: ${name}`);
        unseen.delete(name);
      }
    });
    assert.deepEqual([...unseen], [], 'no history could be corrupted in this way');
  },
  /** Checks requests under one id: every difference in what they request changes the fingerprint. */
  async requests() {
    for (const [name, base, others, operationOf] of requests) {
      const { fingerprint } = operationOf(base as never);
      assert.equal(operationOf({ ...base } as never).fingerprint, fingerprint, `a repeated ${name} is taken for another`);
      for (const other of others) {
        assert.notEqual(
          operationOf({ ...base, ...other } as never).fingerprint,
          fingerprint,
          `a ${name} with another ${Object.keys(other).join()} is taken for a repeat`,
        );
      }
    }
  },
} as const;

/** The name of a check. */
export type CheckName = keyof typeof checks;

type RequestCase = readonly [
  name: string,
  base: object,
  others: readonly object[],
  operationOf: (request: never) => { readonly fingerprint: string },
];

const [accountId, holdId] = [`acct_${'a'.repeat(32)}`, `req_${'b'.repeat(32)}`];
const credit = { accountId, idempotencyKey: 'k', amountNanoUsd: 5n, reason: 'why' };
const requests: readonly RequestCase[] = [
  [
    'hold',
    { accountId, holdId, keyId: `key_${'c'.repeat(32)}`, keyLimit: { version: 1n }, amountNanoUsd: 5n, minAmountNanoUsd: 2n, ttlMs: 5_000 },
    [{ keyId: `key_${'d'.repeat(32)}` }, { amountNanoUsd: 6n }, { minAmountNanoUsd: 3n }, { ttlMs: 6_000 }],
    (request: HoldRequest) => holdOperation({ ...request, budgets: [], timeZone: '' }, 0),
  ],
  [
    'deposit',
    { ...credit, source: DepositSource.DEPOSIT_SOURCE_CASH },
    [{ amountNanoUsd: 6n }, { source: DepositSource.DEPOSIT_SOURCE_PROMOTION }, { reason: 'not' }],
    depositOperation,
  ],
  [
    'adjustment',
    { ...credit, linkedEntryId: '' },
    [{ amountNanoUsd: -5n }, { reason: 'not' }, { linkedEntryId: 'ent_1' }],
    adjustOperation,
  ],
  ['linked debit', { ...credit, amountNanoUsd: -5n, linkedEntryId: 'ent_1' }, [{ paymentRefund: true }], adjustOperation],
  [
    'refund',
    { ...credit, holdId },
    [
      { holdId: `req_${'e'.repeat(32)}` },
      { amountNanoUsd: 4n },
      { amountNanoUsd: undefined },
      { reason: 'not' },
      { chargeEntryId: 'ent_1' },
    ],
    refundOperation,
  ],
];

type Corrupt = (rows: AccountRows) => AccountRows | undefined;
type Entry = AccountRows['entries'][number];
type Hold = AccountRows['holds'][number];
type Account = NonNullable<AccountRows['account']>;

const ofAccount =
  (change: (account: Account) => Partial<Account>): Corrupt =>
  (rows) =>
    rows.account === undefined ? undefined : { ...rows, account: { ...rows.account, ...change(rows.account) } };

const ofKey =
  (change: (key: AccountRows['keys'][number]) => object): Corrupt =>
  (rows) =>
    rows.keys.length === 0 ? undefined : { ...rows, keys: rows.keys.map((key, index) => (index === 0 ? { ...key, ...change(key) } : key)) };

const ofBudget =
  (change: (bucket: AccountRows['budgets'][number]) => object): Corrupt =>
  (rows) =>
    rows.budgets.length === 0
      ? undefined
      : { ...rows, budgets: rows.budgets.map((bucket, index) => (index === 0 ? { ...bucket, ...change(bucket) } : bucket)) };

function ofFirst<T>(all: readonly T[], isMeant: (one: T) => boolean, change: (one: T) => Partial<T>): T[] | undefined {
  const meant = all.find(isMeant);
  return meant === undefined ? undefined : all.map((one) => (one === meant ? { ...one, ...change(one) } : one));
}

const ofHold =
  (isMeant: (hold: Hold) => boolean, change: (hold: Hold) => Partial<Hold>): Corrupt =>
  (rows) => {
    const holds = ofFirst(rows.holds, isMeant, change);
    return holds && { ...rows, holds };
  };

const ofEntry =
  (isMeant: (entry: Entry, rows: AccountRows) => boolean, change: (entry: Entry) => Partial<Entry>): Corrupt =>
  (rows) => {
    const entries = ofFirst(rows.entries, (entry) => isMeant(entry, rows), change);
    return entries && { ...rows, entries };
  };

const isBooked = (hold: Hold): boolean => hold.lastSeq > 0n;
const isAny = (): boolean => true;
const isCredit = (entry: Entry): boolean => entry.keyId === '';

const corruptions = new Map<string, Corrupt>([
  [
    'credited and spent of an account',
    ofAccount((account) => ({ creditedNanoUsd: account.creditedNanoUsd + 1n, spentNanoUsd: account.spentNanoUsd + 1n })),
  ],
  ['spent of an account', ofAccount((account) => ({ spentNanoUsd: account.spentNanoUsd + 1n }))],
  ['held of an account', ofAccount((account) => ({ heldNanoUsd: account.heldNanoUsd + 1n }))],
  ['number of the last entry', ofAccount((account) => ({ seq: account.seq + 1n }))],
  ['spent of a key', ofKey((key) => ({ spentNanoUsd: key.spentNanoUsd + 1n }))],
  ['spent of a budget', ofBudget((bucket) => ({ spentNanoUsd: bucket.spentNanoUsd + 1n }))],
  ['held of a budget', ofBudget((bucket) => ({ heldNanoUsd: bucket.heldNanoUsd + 1n }))],
  ['held of a key', ofKey((key) => ({ heldNanoUsd: key.heldNanoUsd + 1n }))],
  [
    'amount of an open hold',
    ofHold(
      (hold) => hold.state === HoldState.HOLD_STATE_OPEN,
      (hold) => ({ amountNanoUsd: hold.amountNanoUsd + 1n }),
    ),
  ],
  ['captured of a hold', ofHold(isBooked, (hold) => ({ capturedNanoUsd: hold.capturedNanoUsd + 1n }))],
  ['shortfall of a hold', ofHold(isBooked, (hold) => ({ shortfallNanoUsd: hold.shortfallNanoUsd + 1n }))],
  ['refunded of a hold', ofHold(isBooked, (hold) => ({ refundedNanoUsd: hold.refundedNanoUsd + 1n }))],
  ['last entry of a hold', ofHold(isBooked, () => ({ lastSeq: 0n }))],
  [
    'number of an entry',
    ofEntry(
      (entry, { entries }) => isCredit(entry) && entry === entries.at(-1),
      (entry) => ({ seq: entry.seq + 1n }),
    ),
  ],
  [
    'posting of a deposit',
    ofEntry(
      (entry) => entry.kind === EntryKind.ENTRY_KIND_DEPOSIT,
      () => ({ debit: BookAccount.BOOK_ACCOUNT_REVENUE }),
    ),
  ],
  [
    'posting of a charge',
    ofEntry(
      (entry) => entry.kind === EntryKind.ENTRY_KIND_CHARGE,
      () => ({ credit: BookAccount.BOOK_ACCOUNT_SHORTFALL_EXPENSE }),
    ),
  ],
  [
    'deposited of an account',
    ofAccount((account) => ({ sums: { ...account.sums, depositedNanoUsd: account.sums.depositedNanoUsd + 1n } })),
  ],
  ['refunded of an account', ofAccount((account) => ({ sums: { ...account.sums, refundedNanoUsd: account.sums.refundedNanoUsd + 1n } }))],
  ['amount of an entry', ofEntry(isAny, (entry) => ({ amountNanoUsd: entry.amountNanoUsd + 1n }))],
  ['credited after an entry', ofEntry(isAny, (entry) => ({ creditedAfterNanoUsd: entry.creditedAfterNanoUsd + 1n }))],
  ['spent after an entry', ofEntry(isAny, (entry) => ({ spentAfterNanoUsd: entry.spentAfterNanoUsd + 1n }))],
  ['less than nothing held after an entry', ofEntry(isAny, () => ({ heldAfterNanoUsd: -1n }))],
  [
    'more than there is held after an entry',
    ofEntry(isAny, (entry) => ({ heldAfterNanoUsd: entry.creditedAfterNanoUsd - entry.spentAfterNanoUsd + 1n })),
  ],
  [
    'link of a refund',
    ofEntry(
      (entry) => entry.keyId !== '' && entry.linkedEntryId !== '',
      () => ({ linkedEntryId: '' }),
    ),
  ],
]);
