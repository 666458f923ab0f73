// A journal entry as archives store it: every amount as whole nano-USD in decimal digits, names instead of numbers. Pure.
import { enumWord } from '#kit/enum-word.js';
import { BookAccount, type Entry, EntryKind } from '#proto/ledger/v1/ledger.js';

/** Returns the entry as plain data for a line of JSON. */
export function entryLine(entry: Entry): Record<string, string> {
  return {
    id: entry.id,
    account_id: entry.accountId,
    seq: String(entry.seq),
    kind: enumWord(EntryKind[entry.kind], 'ENTRY_KIND_'),
    debit: enumWord(BookAccount[entry.debit], 'BOOK_ACCOUNT_'),
    credit: enumWord(BookAccount[entry.credit], 'BOOK_ACCOUNT_'),
    amount_nano_usd: String(entry.amountNanoUsd),
    credited_after_nano_usd: String(entry.creditedAfterNanoUsd),
    spent_after_nano_usd: String(entry.spentAfterNanoUsd),
    held_after_nano_usd: String(entry.heldAfterNanoUsd),
    reference: entry.reference,
    key_id: entry.keyId,
    reason: entry.reason,
    linked_entry_id: entry.linkedEntryId,
    idempotency_key: entry.idempotencyKey,
    created_at: new Date(Number(entry.createdAtMs)).toISOString(),
  };
}
