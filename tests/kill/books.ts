// Reads Tollgate's books, once nothing is open any more: records, balances and the journal.
import { setTimeout as sleep } from 'node:timers/promises';
import { type BalanceRow, type UsageRow, usageRows } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import type { System } from '../support/systems/system.js';

/** A usage record with the fields that link it to a client's call. */
export interface RecordRow extends UsageRow {
  readonly account_id: string;
  readonly client_request_id: string | null;
  readonly streaming: boolean;
  readonly outcome_detail: string;
}

/** A journal entry as `tollgate balance entries --json` shows it. */
export interface EntryRow {
  readonly id: string;
  readonly kind: string;
  readonly amount_nano_usd: string;
  /** The call id of a charge, a refund or a shortfall. */
  readonly reference: string;
  readonly linked_entry_id: string | null;
}

/** The books of a run. */
export interface Books {
  readonly records: readonly RecordRow[];
  readonly balances: ReadonlyMap<string, BalanceRow>;
  readonly entries: ReadonlyMap<string, readonly EntryRow[]>;
  /** The result of `tollgate ledger verify`. */
  readonly verification: {
    readonly ok: boolean;
    readonly records_checked: number;
    readonly open_holds: number;
    readonly sum_nano_usd: string;
  };
}

/**
 * Waits until every record is settled, nothing is held, and no new record has appeared for `quietMs` (calls whose gateway was lost are
 * recorded when their lease expires). Raises an Error that lists what is still open if that takes too long.
 */
export async function readQuietBooks(system: System, accountIds: readonly string[], quietMs: number, timeoutMs: number): Promise<Books> {
  return eventually(async () => {
    const before = await readOpen(system, accountIds);
    if (before.unsettled.length > 0 || before.held.length > 0) {
      await sleep(1000);
      throw new Error(
        `Still open: ${before.unsettled.length} records not settled (${before.unsettled.slice(0, 5).join(', ')}), held: ${before.held.join(', ')}.`,
      );
    }
    await sleep(quietMs);
    const after = await readOpen(system, accountIds);
    if (after.records.length !== before.records.length || after.unsettled.length > 0 || after.held.length > 0)
      throw new Error('New records are still appearing.');
    const entries = new Map<string, EntryRow[]>();
    for (const id of accountIds)
      entries.set(id, lines<EntryRow>(await system.cli('balance', 'entries', '--account', id, '--all', '--json')));
    // Its exit code is 1 if the books are wrong, which is for the judge to report.
    const { stdout } = await system.tryCli('ledger', 'verify', '--json');
    return { records: after.records, balances: after.balances, entries, verification: JSON.parse(stdout) as Books['verification'] };
  }, timeoutMs);
}

async function readOpen(system: System, accountIds: readonly string[]) {
  const records = (await usageRows(system)) as RecordRow[];
  const balances = new Map<string, BalanceRow>();
  for (const id of accountIds) balances.set(id, await system.json<BalanceRow>('balance', 'show', '--account', id));
  const unsettled = records.filter((row) => row.settled_at === null).map((row) => row.id);
  const held = [...balances.values()].map((balance) => balance.held_nano_usd).filter((amount) => amount !== '0');
  return { records, balances, unsettled, held };
}

function lines<T>(text: string): T[] {
  return text.trim() === ''
    ? []
    : text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as T);
}
