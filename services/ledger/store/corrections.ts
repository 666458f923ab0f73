// Finds the entries that correct an entry: those that are linked to it, and those that are linked to another of its corrections.
import type { Database } from '#kit/db/open.js';
import { asBigInt } from '#kit/db/values.js';
import type { Entry } from '#proto/ledger/v1/ledger.js';
import { linkedKinds } from '../books/journal.js';
import { type AccountColumns, journalTable, toEntry } from './rows.js';

const notesPerPart = 1000;

/** The note comes first, so that the few notes are read, in order, instead of the journal. */
const selectLinked =
  `SELECT ${journalTable.columns.map((column) => `journal.${column}`).join(', ')} FROM journal_note CROSS JOIN journal ` +
  'ON journal.slot = journal_note.slot AND journal.account_id = journal_note.account_id AND journal.seq = journal_note.seq ' +
  `WHERE journal_note.slot = ? AND journal_note.account_id = ? AND journal_note.seq > ? AND journal_note.kind IN (${linkedKinds.join(', ')}) ` +
  `AND journal.linked_seq >= ? ORDER BY journal_note.seq LIMIT ${notesPerPart}`;

/** Returns the corrections of the entry with this number, oldest first. Reads the later notes once: an entry is linked to an earlier one. */
export async function correctingEntries(from: Pick<Database, 'query'>, columns: AccountColumns, seq: bigint): Promise<Entry[]> {
  const found: Entry[] = [];
  const seqs = new Set([seq]);
  for (let afterSeq = seq; ;) {
    const rows = await from.query(selectLinked, [columns.slot, columns.account_id, afterSeq, seq]);
    for (const row of rows) {
      afterSeq = asBigInt(row['seq']);
      if (!seqs.has(asBigInt(row['linked_seq']))) continue;
      seqs.add(afterSeq);
      found.push(toEntry(journalTable.valuesOf(row)));
    }
    if (rows.length < notesPerPart) return found;
  }
}
