// Finds the entries that correct an entry: those that are linked to it, and those that are linked to another of its corrections.
import type { Database } from '#kit/db/open.js';
import { type Entry, EntryKind } from '#proto/ledger/v1/ledger.js';
import { type AccountColumns, journalTable, toEntry } from './rows.js';

/** The kinds of entries that may be linked to another. Their notes are few, so the journal needs no index of links. */
const linkedKinds = [
  EntryKind.ENTRY_KIND_ADJUSTMENT,
  EntryKind.ENTRY_KIND_REFUND,
  EntryKind.ENTRY_KIND_CHARGE_CORRECTION,
  EntryKind.ENTRY_KIND_REFUND_REVERSAL,
];

const selectLinked =
  `SELECT ${journalTable.columns.map((column) => `journal.${column}`).join(', ')} FROM journal_note JOIN journal ` +
  'ON journal.slot = journal_note.slot AND journal.account_id = journal_note.account_id AND journal.seq = journal_note.seq ' +
  `WHERE journal_note.slot = ? AND journal_note.account_id = ? AND journal_note.seq > ? AND journal_note.kind IN (${linkedKinds.join(', ')})`;

/** Returns the corrections of the entry with this number, oldest first. */
export async function correctingEntries(from: Pick<Database, 'query'>, columns: AccountColumns, seq: bigint): Promise<Entry[]> {
  const found: Entry[] = [];
  for (let linkedTo = [seq]; linkedTo.length > 0;) {
    const places = linkedTo.map(() => '?').join(', ');
    const rows = await from.query(`${selectLinked} AND journal.linked_seq IN (${places})`, [
      columns.slot,
      columns.account_id,
      seq,
      ...linkedTo,
    ]);
    const entries = rows.map((row) => toEntry(journalTable.valuesOf(row)));
    found.push(...entries);
    linkedTo = entries.map((entry) => entry.seq);
  }
  return found.sort((a, b) => Number(a.seq - b.seq));
}
