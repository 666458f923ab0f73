// GetEntry: one entry of the journal, with its corrections and what is left of it.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { type Entry, EntryKind, type GetEntryRequest, type GetEntryResponse } from '#proto/ledger/v1/ledger.js';
import { emptyAccount } from '../books/buckets.js';
import { correctionsAmong, leftOfEntry } from '../books/corrections.js';
import type { RpcDeps } from '../deps.js';
import { isOfHold, seqOfEntry } from '../books/journal.js';
import type { Corrections } from '../books/model.js';
import { isFinal, refundableNanoUsd } from '../operations/refund.js';
import { refundReversibleNanoUsd } from '../operations/reverse.js';
import { checkedId } from '../requests/fields.js';

/** Raises not_found and invalid_request. */
export async function getEntry(request: GetEntryRequest, _context: CallContext, deps: RpcDeps): Promise<GetEntryResponse> {
  const entry = await existingEntry(request, deps);
  const corrections = await deps.reads.corrections(entry.accountId, entry.seq);
  return { entry, corrections, reversibleNanoUsd: await reversibleNanoUsd(entry, correctionsAmong(entry.seq, corrections), deps) };
}

/** Returns the entry that a request names. Raises not_found and invalid_request. */
export async function existingEntry(request: GetEntryRequest, deps: Pick<RpcDeps, 'reads' | 'months'>): Promise<Entry> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const account = (await deps.reads.account(accountId)) ?? emptyAccount(accountId);
  const seq = seqOfEntry(account, request.entryId);
  const [entry] =
    seq === undefined
      ? []
      : await deps.months.entries(accountId, { fromSeq: seq, endSeq: seq + 1n, kinds: [] }, { oldestFirst: true, limit: 1 });
  if (entry === undefined) throw fault('no_entry', {}, { details: { what: 'entry' } });
  return entry;
}

async function reversibleNanoUsd(entry: Entry, corrections: Corrections, { reads }: Pick<RpcDeps, 'reads'>): Promise<bigint> {
  const { kind, accountId, reference } = entry;
  if (!isOfHold(kind)) return leftOfEntry(entry, corrections);
  if (kind !== EntryKind.ENTRY_KIND_CHARGE && kind !== EntryKind.ENTRY_KIND_REFUND) return 0n;
  const hold = await reads.hold(accountId, reference);
  if (hold === undefined || !isFinal(hold)) return 0n;
  return kind === EntryKind.ENTRY_KIND_CHARGE
    ? refundableNanoUsd(hold, entry, corrections)
    : refundReversibleNanoUsd(hold, entry, corrections);
}
