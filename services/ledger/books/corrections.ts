// What later entries have changed about an entry: those that are linked to it, and those that are linked to another of its corrections. Pure.
import type { Entry } from '#proto/ledger/v1/ledger.js';
import { least } from './buckets.js';
import { balanceEffectNanoUsd, seqInAccount, seqOfEntryId } from './journal.js';
import type { CorrectedEntry, Corrections, Operation } from './model.js';

/** The greatest number that a column can hold. */
const seqMax = 2n ** 63n - 1n;
const noCorrections: Corrections = { seqs: [], effectNanoUsd: 0n };

/** Returns the entry of which an operation can change at most what is left; undefined for other operations. */
export function limitingEntry(operation: Operation): CorrectedEntry | undefined {
  switch (operation.kind) {
    case 'refund':
      return operation.charge;
    case 'reverse':
    case 'reverse_refund':
      return operation.entry;
    default:
      return undefined;
  }
}

/** Returns the number of the entry whose corrections an operation depends on; undefined if there is none. */
export function correctedSeq(operation: Operation): bigint | undefined {
  if (operation.kind !== 'adjust' || operation.linkedEntryId === undefined) return limitingEntry(operation)?.seq;
  const seq = seqInAccount(operation.accountId, operation.linkedEntryId);
  return seq !== undefined && seq >= 1n && seq <= seqMax ? seq : undefined;
}

/** Returns the corrections of the entry with this number, given later entries of its journal in order. `known` are those among the entries before. */
export function correctionsAmong(seq: bigint, entries: readonly Entry[], known: Corrections = noCorrections): Corrections {
  const seqs = new Set([seq, ...known.seqs]);
  let { effectNanoUsd } = known;
  for (const entry of entries) {
    if (entry.linkedEntryId === '' || !seqs.has(seqOfEntryId(entry.linkedEntryId))) continue;
    seqs.add(entry.seq);
    effectNanoUsd += balanceEffectNanoUsd(entry);
  }
  seqs.delete(seq);
  return { seqs: [...seqs], effectNanoUsd };
}

/** Returns how much of an entry its corrections have not taken back. Corrections in the direction of the entry do not add to it. */
export function leftOfEntry(entry: CorrectedEntry, { effectNanoUsd: corrected }: Corrections = noCorrections): bigint {
  const effectNanoUsd = balanceEffectNanoUsd(entry);
  const leftNanoUsd = effectNanoUsd < 0n ? -(effectNanoUsd + corrected) : effectNanoUsd + corrected;
  return leftNanoUsd < 0n ? 0n : least(leftNanoUsd, entry.amountNanoUsd);
}
