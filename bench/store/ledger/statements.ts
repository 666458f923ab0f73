// Measures statements of an account with as many charges as several months create, on SQLite and on MariaDB: months, lines and receipts. See README.md.
import { parseArgs } from 'node:util';
import { systemClock } from '#kit/clock.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import { asBytes } from '#kit/db/values.js';
import { idFromBytes, newId } from '#kit/id.js';
import { callContext } from '#client/call-context.js';
import { type Entry, EntryKind, ListEntriesRequest } from '#proto/ledger/v1/ledger.js';
import { emptyAccount } from '#services/ledger/books/buckets.js';
import type { RpcDeps } from '#services/ledger/deps.js';
import { entryId, postings } from '#services/ledger/books/journal.js';
import { migrations } from '#services/ledger/migrations/index.js';
import { isNoted, monthAt, monthText, startOfMonthMs, sumEntry } from '#services/ledger/statements/months.js';
import type { MonthOpening } from '#services/ledger/books/model.js';
import { getEntry } from '#services/ledger/rpcs/get-entry.js';
import { getStatement } from '#services/ledger/rpcs/get-statement.js';
import { listEntries } from '#services/ledger/rpcs/list-entries.js';
import { listStatements } from '#services/ledger/rpcs/list-statements.js';
import { Months } from '#services/ledger/store/months.js';
import { Reads } from '#services/ledger/store/reads.js';
import {
  accountColumns,
  bucketTable,
  fromAccount,
  fromEntry,
  fromNoted,
  fromOpening,
  journalTable,
  monthTable,
  noteTable,
} from '#services/ledger/store/rows.js';
import { type Engine, type NewDatabase, newDatabase } from '../database.ts';
import { print, printCircumstances, printTable } from '../../table.ts';

const { values: options } = parseArgs({
  options: {
    engines: { type: 'string', default: 'sqlite,mysql' },
    entries: { type: 'string', default: '1000000' },
    months: { type: 'string', default: '12' },
    tries: { type: 'string', default: '50' },
    // Databases that are filled if empty, and kept.
    keep: { type: 'string', default: '' },
  },
});
const [entryCount, monthCount, tries] = [Number(options.entries), Number(options.months), Number(options.tries)];
const lastMonth = monthAt(Date.now());
const firstMs = startOfMonthMs(lastMonth - monthCount + 1);
const rowsOfTransaction = 10_000;
const rowsOfInsert = 500;
/** One of this many entries is a deposit, and one is a refund. */
const rarity = 1000;

/** Writes the account's journal, with the sums and months that the ledger keeps. */
async function generate(db: Database, accountId: string): Promise<void> {
  const lead = accountColumns(accountId, db.engine);
  const keyId = newId('key');
  let account = emptyAccount(accountId);
  let rows: Entry[] = [];
  const openings: MonthOpening[] = [];
  const flush = async (): Promise<void> => {
    await db.plainTransaction(async (tx) => {
      for (let start = 0; start < rows.length; start += rowsOfInsert)
        await tx.insert(
          journalTable,
          rows.slice(start, start + rowsOfInsert).map((entry) => fromEntry(entry, lead)),
        );
      await tx.insert(
        noteTable,
        rows.filter(isNoted).map((entry) => fromNoted(entry, lead)),
      );
    });
    rows = [];
  };
  for (let index = 0; index < entryCount; index += 1) {
    const atMs = firstMs + Math.floor(((Date.now() - firstMs) * index) / entryCount);
    const posting = index % rarity === 0 ? postings.cashDeposit : index % rarity === 500 ? postings.refund : postings.charge;
    const amount =
      posting.kind === EntryKind.ENTRY_KIND_DEPOSIT
        ? 5_000_000n
        : posting.kind === EntryKind.ENTRY_KIND_REFUND
          ? 1_000n
          : BigInt(1_000 + (index % 97));
    const isDeposit = posting.kind === EntryKind.ENTRY_KIND_DEPOSIT;
    const creditedNanoUsd = account.creditedNanoUsd + (isDeposit ? amount : 0n);
    const spentNanoUsd = account.spentNanoUsd + (isDeposit ? 0n : posting.kind === EntryKind.ENTRY_KIND_REFUND ? -amount : amount);
    const seq = BigInt(index + 1);
    const entry: Entry = {
      id: entryId(accountId, seq),
      accountId,
      seq,
      ...posting,
      amountNanoUsd: amount,
      creditedAfterNanoUsd: creditedNanoUsd,
      spentAfterNanoUsd: spentNanoUsd,
      heldAfterNanoUsd: 0n,
      reference: isDeposit ? `d${index}` : newId('req', atMs),
      keyId: isDeposit ? '' : keyId,
      reason: '',
      linkedEntryId: '',
      createdAtMs: BigInt(atMs),
      idempotencyKey: isDeposit ? `d${index}` : '',
    };
    rows.push(entry);
    const { sums, opening } = sumEntry(account, entry);
    if (opening !== undefined) openings.push(opening);
    account = { ...account, creditedNanoUsd, spentNanoUsd, seq, sums };
    if (rows.length === rowsOfTransaction) await flush();
  }
  if (rows.length > 0) await flush();
  await db.plainTransaction(async (tx) => {
    await tx.insert(bucketTable, [fromAccount(account, lead)]);
    await tx.insert(
      monthTable,
      openings.map((opening) => fromOpening(opening, lead)),
    );
  });
}

/** Returns the account of the entries; creates the entries if there are none. */
async function filled(db: Database): Promise<string> {
  const [kept] = (await db.knex('bucket').select('account_id').limit(1)) as { account_id: unknown }[];
  if (kept !== undefined) return idFromBytes('acct', asBytes(kept.account_id));
  const accountId = newId('acct');
  await generate(db, accountId);
  return accountId;
}

/** Returns the 50th and 95th percentile in milliseconds. A first try is not counted. */
async function timesOf(ask: () => Promise<unknown>): Promise<{ p50: number; p95: number }> {
  await ask();
  const times: number[] = [];
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const start = performance.now();
    await ask();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return { p50: times[Math.floor(tries * 0.5)]!, p95: times[Math.min(tries - 1, Math.floor(tries * 0.95))]! };
}

async function measure({ url, drop }: NewDatabase): Promise<void> {
  const db = openDatabase(url);
  try {
    await migrate(db, migrations);
    const accountId = await filled(db);
    const months = new Months(db);
    print(`\n${db.engine}: ${entryCount} entries of one account over ${monthCount} months\n`);
    const context = callContext({ caller: 'bench' });
    const deps = { reads: new Reads(db), months, clock: systemClock, config: { clockSkewMs: 500 } } as RpcDeps;
    const middle = monthText(lastMonth - Math.floor(monthCount / 2));
    const lines = (fields: Partial<ListEntriesRequest>) => () =>
      listEntries(ListEntriesRequest.fromPartial({ accountId, pageSize: 50, ...fields }), context, deps);
    const cases: [string, () => Promise<unknown>][] = [
      ['months', () => listStatements({ accountId, pageSize: 0, pageToken: '' }, context, deps)],
      ['one month', () => getStatement({ accountId, month: middle }, context, deps)],
      ['first lines of a month', lines({ month: middle })],
      ['first lines, oldest first', lines({ month: middle, oldestFirst: true })],
      ['a page in the middle', lines({ month: middle, pageToken: String(Math.floor(entryCount / 2) + 60) })],
      ['charges of a month', lines({ month: middle, kinds: [EntryKind.ENTRY_KIND_CHARGE] })],
      ['deposits of a month', lines({ month: middle, kinds: [EntryKind.ENTRY_KIND_DEPOSIT] })],
      ['shortfalls of a month (none)', lines({ month: middle, kinds: [EntryKind.ENTRY_KIND_SHORTFALL] })],
      ['all deposits, first page', lines({ kinds: [EntryKind.ENTRY_KIND_DEPOSIT] })],
      ['1000 lines of an export', lines({ month: middle, oldestFirst: true, pageSize: 1000 })],
      ['a receipt', () => getEntry({ accountId, entryId: entryId(accountId, BigInt(rarity + 1)) }, context, deps)],
    ];
    const rows: string[][] = [];
    for (const [name, ask] of cases) {
      const { p50, p95 } = await timesOf(ask);
      rows.push([name, p50.toFixed(1), p95.toFixed(1)]);
    }
    printTable(['request', 'p50 ms', 'p95 ms'], rows);
  } finally {
    await db.close();
    await drop();
  }
}

printCircumstances(`, ${tries} tries each`);
const kept = options.keep.split(' ').filter((url) => url !== '');
if (kept.length > 0) for (const url of kept) await measure({ url, drop: async () => undefined });
else for (const engine of options.engines.split(',') as Engine[]) await measure(await newDatabase(engine));
