// Rebuilds one account from its journal and holds while it is in use, without locking it.
import { isId } from '#kit/id.js';
import type { Pacer } from '#kit/scheduling/pacer.js';
import type { RpcDeps } from '../deps.js';
import { isOfHold } from '../books/journal.js';
import { Rebuild } from './rebuild.js';

/** Entries read at a time: bounds memory, and how long SQLite occupies the process. */
const entriesPageSize = 200;

/** Holds the finished comparison of one account, and how many holds it has open. */
export interface VerifiedAccount {
  readonly rebuild: Rebuild;
  readonly openHolds: number;
  readonly known: boolean;
}

/** Verifies one account. Archived entries were verified when they were archived; verification continues from their sums. */
export async function verifyAccount(accountId: string, deps: Pick<RpcDeps, 'reads' | 'audit'>, pacer: Pacer): Promise<VerifiedAccount> {
  for (;;) {
    const verified = await verifyOnce(accountId, deps, pacer);
    // Entries archived meanwhile would be missed. Each repetition has a shorter journal, so this ends.
    if (verified.rebuild.drifts.length === 0 || verified.baseSeq === (await deps.reads.baseSeq(accountId))) return verified;
  }
}

async function verifyOnce(
  accountId: string,
  { reads, audit }: Pick<RpcDeps, 'reads' | 'audit'>,
  pacer: Pacer,
): Promise<VerifiedAccount & { baseSeq: bigint }> {
  const snapshot = await reads.snapshot(accountId);
  const rebuild = new Rebuild(accountId, snapshot.base);
  const baseSeq = BigInt(snapshot.base?.seq ?? 0);
  // Entries are never changed, so those up to the snapshot's last one can be read page by page; later ones are left out.
  for (let seq = baseSeq; seq < snapshot.lastSeq;) {
    const entries = await reads.entriesBetween(accountId, seq, snapshot.lastSeq, entriesPageSize);
    const holdIds = entries.map((entry) => entry.reference).filter((reference) => isId('req', reference));
    const names = [...new Set(holdIds)].map((holdId) => ({ accountId, holdId }));
    const holds = new Map((await reads.holdsByName(names)).map((hold) => [hold.id, hold]));
    for (const entry of entries) rebuild.add(entry, holds.get(entry.reference));
    const named = entries.filter((entry) => entry.idempotencyKey !== '' || !isOfHold(entry.kind));
    const numbers = await audit.entryNumbers(
      accountId,
      named.map((entry) => entry.idempotencyKey),
    );
    for (const entry of named) rebuild.compareOperation(entry, numbers.get(entry.idempotencyKey));
    seq = entries.at(-1)?.seq ?? snapshot.lastSeq;
    await pacer.step();
  }
  rebuild.compare(snapshot);
  return { rebuild, openHolds: snapshot.openHolds.length, known: snapshot.account !== undefined || snapshot.lastSeq > 0n, baseSeq };
}
