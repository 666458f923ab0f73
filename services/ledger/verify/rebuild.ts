// Rebuilds an account's sums from its journal, entry by entry, and reports where the journal is inconsistent. Pure.
import { BookAccount, type Entry, EntryKind, HoldState, type VerifyResponse_Drift } from '#proto/ledger/v1/ledger.js';
import { budgetOfText } from '../budgets/budget-text.js';
import { dateText } from '../budgets/calendar.js';
import { effectOf, entryId, isOfHold, linkedToHold, postings, seqOfEntryId } from '../books/journal.js';
import type {
  AccountBucket,
  AccountSnapshot,
  BudgetBucket,
  HoldRecord,
  MonthOpening,
  RebuildSums,
  UnexplainedHold,
} from '../books/model.js';
import { monthAt, monthText, wrapped } from '../statements/months.js';

/** Maximum number of drifts listed: enough to see what is wrong, however many there are. */
export const driftsMax = 100;

interface HoldSums {
  capturedNanoUsd: bigint;
  shortfallNanoUsd: bigint;
  refundedNanoUsd: bigint;
  /** Numbers of its entries so far. */
  readonly seqs: Set<bigint>;
}

/** Calculates what one account's journal adds up to. Entries are added in the order of their numbers, the first after those of the base. */
export class Rebuild {
  readonly drifts: VerifyResponse_Drift[] = [];
  entries = 0n;
  private lastSeq = 0n;
  private creditedNanoUsd = 0n;
  private spentNanoUsd = 0n;
  private readonly keySpentNanoUsd = new Map<string, bigint>();
  /** By scope, of the added entries alone: what archived ones add up to is in the buckets. */
  private readonly budgetSpentNanoUsd = new Map<string, bigint>();
  private readonly booksNanoUsd = new Map<BookAccount, bigint>();
  /** Where months begin in the journal, as far as the added entries show it. */
  private readonly openings: MonthOpening[] = [];
  private readonly baseSeq: bigint = 0n;
  /** Only of holds whose last entry is still to come. */
  private readonly holdSums = new Map<string, HoldSums>();

  constructor(
    private readonly accountId: string,
    base?: RebuildSums,
  ) {
    if (base === undefined) return;
    this.lastSeq = BigInt(base.seq);
    this.baseSeq = this.lastSeq;
    this.creditedNanoUsd = BigInt(base.credited);
    this.spentNanoUsd = BigInt(base.spent);
    for (const [keyId, amount] of Object.entries(base.keys)) this.keySpentNanoUsd.set(keyId, BigInt(amount));
    for (const [book, amount] of Object.entries(base.books)) this.booksNanoUsd.set(Number(book), BigInt(amount));
    for (const [holdId, { captured, shortfall, refunded, seqs }] of Object.entries(base.holds)) {
      this.holdSums.set(holdId, {
        capturedNanoUsd: BigInt(captured),
        shortfallNanoUsd: BigInt(shortfall),
        refundedNanoUsd: BigInt(refunded),
        seqs: new Set(seqs.map(BigInt)),
      });
    }
  }

  /** Returns the sums so far. */
  sums(): RebuildSums {
    const texts = <K>(amounts: Map<K, bigint>) => Object.fromEntries([...amounts].map(([key, amount]) => [String(key), String(amount)]));
    return {
      seq: String(this.lastSeq),
      credited: String(this.creditedNanoUsd),
      spent: String(this.spentNanoUsd),
      keys: texts(this.keySpentNanoUsd),
      books: texts(this.booksNanoUsd),
      holds: Object.fromEntries(
        [...this.holdSums].map(([holdId, { capturedNanoUsd, shortfallNanoUsd, refundedNanoUsd, seqs }]) => [
          holdId,
          {
            captured: String(capturedNanoUsd),
            shortfall: String(shortfallNanoUsd),
            refunded: String(refundedNanoUsd),
            seqs: [...seqs].map(String),
          },
        ]),
      ),
    };
  }

  /** Adds the next entry. `hold` is the stored hold that it refers to, if it refers to one. */
  add(entry: Entry, hold: HoldRecord | undefined): void {
    this.entries += 1n;
    this.expectEqual(`number of entry ${entry.seq}`, entry.seq, this.lastSeq + 1n);
    this.lastSeq = entry.seq;
    const known = Object.values(postings).some(
      ({ kind, debit, credit }) => kind === entry.kind && debit === entry.debit && credit === entry.credit,
    );
    if (!known) {
      this.expectEqual(`posting of entry ${entry.seq}`, entry.amountNanoUsd, 0n);
      return;
    }
    const month = monthAt(Number(entry.createdAtMs));
    if (month > (this.openings.at(-1)?.month ?? 0)) this.openings.push({ ...this.monthSums(), month, firstSeq: entry.seq });
    this.book(entry.debit, entry.amountNanoUsd);
    this.book(entry.credit, -entry.amountNanoUsd);
    const effect = effectOf(entry);
    this.creditedNanoUsd += effect.creditedNanoUsd;
    this.spentNanoUsd += effect.spentNanoUsd;
    this.keySpentNanoUsd.set(entry.keyId, (this.keySpentNanoUsd.get(entry.keyId) ?? 0n) + effect.spentNanoUsd);
    for (const scopeId of hold?.budgets ?? []) addTo(this.budgetSpentNanoUsd, scopeId, effect.spentNanoUsd);
    this.expectEqual(`credited after entry ${entry.seq}`, entry.creditedAfterNanoUsd, this.creditedNanoUsd);
    this.expectEqual(`spent after entry ${entry.seq}`, entry.spentAfterNanoUsd, this.spentNanoUsd);
    // The amount held at that time is in no entry; but it was never negative, nor more than there was.
    const heldMostNanoUsd = this.creditedNanoUsd - this.spentNanoUsd;
    if (entry.heldAfterNanoUsd < 0n || entry.heldAfterNanoUsd > heldMostNanoUsd) {
      this.expectEqual(`held after entry ${entry.seq}`, entry.heldAfterNanoUsd, heldMostNanoUsd);
    }
    if (isOfHold(entry.kind)) this.addToHold(entry, effect.spentNanoUsd, hold);
  }

  /** Returns what the added entries add to the spend of budgets, by scope. */
  budgetSpend(): ReadonlyMap<string, bigint> {
    return this.budgetSpentNanoUsd;
  }

  /**
   * Checks that the idempotency key of a deposit, adjustment or refund refers to its entry: if it referred to another, a repeat would be executed again.
   * `foundSeq` is the number of the entry that the key refers to; undefined for none.
   */
  compareOperation(entry: Entry, foundSeq: bigint | undefined): void {
    this.expectEqual(`operation of entry ${entry.seq}`, foundSeq ?? 0n, entry.seq);
  }

  /** Compares the sums with what was stored at the instant up to which entries were added. */
  compare(stored: AccountSnapshot): void {
    const { account, keys, budgets, openHolds } = stored;
    this.expectEqual('seq', account?.seq ?? 0n, stored.lastSeq);
    this.expectEqual('credited', account?.creditedNanoUsd ?? 0n, this.creditedNanoUsd);
    this.expectEqual('spent', account?.spentNanoUsd ?? 0n, this.spentNanoUsd);
    this.expectEqual('held', account?.heldNanoUsd ?? 0n, sum(openHolds));
    const liabilityNanoUsd = -(this.booksNanoUsd.get(BookAccount.BOOK_ACCOUNT_CUSTOMER) ?? 0n);
    this.expectEqual('credited less spent', (account?.creditedNanoUsd ?? 0n) - (account?.spentNanoUsd ?? 0n), liabilityNanoUsd);
    if (account !== undefined) this.compareMonths(account, stored.openings);
    const keyIds = new Set([...keys.map((key) => key.keyId), ...this.keySpentNanoUsd.keys(), ...openHolds.map((hold) => hold.keyId ?? '')]);
    // Deposits and adjustments belong to no key.
    keyIds.delete('');
    for (const keyId of keyIds) {
      const key = keys.find((candidate) => candidate.keyId === keyId);
      this.expectEqual(`spent of ${keyId}`, key?.spentNanoUsd ?? 0n, this.keySpentNanoUsd.get(keyId) ?? 0n);
      this.expectEqual(`held of ${keyId}`, key?.heldNanoUsd ?? 0n, sum(openHolds.filter((hold) => hold.keyId === keyId)));
    }
    this.compareBudgets(budgets, openHolds);
  }

  /** Compares the spend of budgets. A call counts in the buckets that its hold names. */
  private compareBudgets(budgets: readonly BudgetBucket[], openHolds: readonly HoldRecord[]): void {
    const heldNanoUsd = new Map<string, bigint>();
    for (const hold of openHolds) for (const scopeId of hold.budgets) addTo(heldNanoUsd, scopeId, hold.amountNanoUsd);
    const byScope = new Map(budgets.map((bucket) => [bucket.scopeId, bucket]));
    for (const scopeId of new Set([...byScope.keys(), ...this.budgetSpentNanoUsd.keys(), ...heldNanoUsd.keys()])) {
      const bucket = byScope.get(scopeId);
      const name = bucket === undefined ? `budget bucket ${scopeId}` : nameOf(bucket);
      const spentNanoUsd = (bucket?.archivedNanoUsd ?? 0n) + (this.budgetSpentNanoUsd.get(scopeId) ?? 0n);
      this.expectEqual(`spent of ${name}`, bucket?.spentNanoUsd ?? 0n, spentNanoUsd);
      this.expectEqual(`held of ${name}`, bucket?.heldNanoUsd ?? 0n, heldNanoUsd.get(scopeId) ?? 0n);
    }
  }

  /** Compares the sums from which statements are computed. */
  private compareMonths(account: AccountBucket, stored: readonly MonthOpening[] | undefined): void {
    const { depositedNanoUsd, refundedNanoUsd } = this.monthSums();
    this.expectEqual('deposited', account.sums.depositedNanoUsd, depositedNanoUsd);
    this.expectEqual('refunded', account.sums.refundedNanoUsd, refundedNanoUsd);
    if (stored === undefined) return;
    // The month in which the archived part ends began within that part, so its opening cannot be rebuilt.
    const archived = stored.findLast(({ firstSeq }) => firstSeq <= this.baseSeq)?.month ?? 0;
    const rebuilt = new Map(this.openings.filter(({ month }) => month > archived).map((opening) => [opening.month, opening]));
    const kept = new Map(stored.filter(({ month }) => month > archived).map((opening) => [opening.month, opening]));
    for (const month of new Set([...rebuilt.keys(), ...kept.keys()])) {
      for (const figure of ['firstSeq', 'creditedNanoUsd', 'spentNanoUsd', 'depositedNanoUsd', 'refundedNanoUsd'] as const) {
        this.expectEqual(
          `${figure} at the beginning of ${monthText(month)}`,
          kept.get(month)?.[figure] ?? 0n,
          rebuilt.get(month)?.[figure] ?? 0n,
        );
      }
    }
  }

  private monthSums(): Omit<MonthOpening, 'month' | 'firstSeq'> {
    const booked = (book: BookAccount): bigint => this.booksNanoUsd.get(book) ?? 0n;
    return {
      creditedNanoUsd: this.creditedNanoUsd,
      spentNanoUsd: this.spentNanoUsd,
      depositedNanoUsd: wrapped(booked(BookAccount.BOOK_ACCOUNT_CASH) + booked(BookAccount.BOOK_ACCOUNT_PROMOTION)),
      refundedNanoUsd: wrapped(booked(BookAccount.BOOK_ACCOUNT_REFUND)),
    };
  }

  /** Returns all debits less all credits. */
  booksSumNanoUsd(): bigint {
    return [...this.booksNanoUsd.values()].reduce((total, amountNanoUsd) => total + amountNanoUsd, 0n);
  }

  private addToHold(entry: Entry, spentNanoUsd: bigint, hold: HoldRecord | undefined): void {
    const sums: HoldSums = this.holdSums.get(entry.reference) ?? {
      capturedNanoUsd: 0n,
      shortfallNanoUsd: 0n,
      refundedNanoUsd: 0n,
      seqs: new Set(),
    };
    if (linkedToHold.includes(entry.kind)) {
      const linkedSeq = seqOfLink(entry);
      if (!sums.seqs.has(linkedSeq)) this.expectEqual(`link of entry ${entry.seq}`, linkedSeq, [...sums.seqs].at(-1) ?? 0n);
    }
    sums.seqs.add(entry.seq);
    // A correction lowers what was captured; a refund and its reversal leave it unchanged and are summed separately.
    if (entry.kind === EntryKind.ENTRY_KIND_REFUND || entry.kind === EntryKind.ENTRY_KIND_REFUND_REVERSAL)
      sums.refundedNanoUsd -= spentNanoUsd;
    else sums.capturedNanoUsd += spentNanoUsd;
    if (sums.refundedNanoUsd < 0n) this.expectEqual(`refunded up to entry ${entry.seq}`, sums.refundedNanoUsd, 0n);
    if (sums.refundedNanoUsd > sums.capturedNanoUsd)
      this.expectEqual(`refunded up to entry ${entry.seq}`, sums.refundedNanoUsd, sums.capturedNanoUsd);
    if (entry.kind === EntryKind.ENTRY_KIND_SHORTFALL) sums.shortfallNanoUsd += entry.amountNanoUsd;
    if (hold === undefined || hold.lastSeq < entry.seq) {
      this.expectEqual(`last entry of ${entry.reference}`, hold?.lastSeq ?? 0n, entry.seq);
    } else if (hold.lastSeq === entry.seq) {
      this.expectEqual(`captured of ${entry.reference}`, hold.capturedNanoUsd, sums.capturedNanoUsd);
      this.expectEqual(`shortfall of ${entry.reference}`, hold.shortfallNanoUsd, sums.shortfallNanoUsd);
      this.expectEqual(`refunded of ${entry.reference}`, hold.refundedNanoUsd, sums.refundedNanoUsd);
      this.holdSums.delete(entry.reference);
      return;
    }
    this.holdSums.set(entry.reference, sums);
  }

  private book(account: BookAccount, amountNanoUsd: bigint): void {
    this.booksNanoUsd.set(account, (this.booksNanoUsd.get(account) ?? 0n) + amountNanoUsd);
  }

  private expectEqual(what: string, storedNanoUsd: bigint, rebuiltNanoUsd: bigint): void {
    if (storedNanoUsd !== rebuiltNanoUsd && this.drifts.length < driftsMax)
      this.drifts.push({ accountId: this.accountId, subject: what, storedNanoUsd, rebuiltNanoUsd });
  }
}

/** Returns how a hold that no entry supports differs from what the journal says. */
export function driftOfHold({ hold, hasItsEntry }: UnexplainedHold): VerifyResponse_Drift {
  const { accountId, id, lastSeq, capturedNanoUsd, shortfallNanoUsd, refundedNanoUsd, checkpointNanoUsd, state } = hold;
  const drift = (what: string, storedNanoUsd: bigint, rebuiltNanoUsd: bigint): VerifyResponse_Drift => ({
    accountId,
    subject: `${what} ${id}`,
    storedNanoUsd,
    rebuiltNanoUsd,
  });
  if (!hasItsEntry) return drift('entry named by', lastSeq, 0n);
  if (lastSeq === 0n && shortfallNanoUsd !== 0n) return drift('shortfall of', shortfallNanoUsd, 0n);
  if (lastSeq === 0n && capturedNanoUsd !== 0n) return drift('captured of', capturedNanoUsd, 0n);
  if (lastSeq === 0n && refundedNanoUsd !== 0n) return drift('refunded of', refundedNanoUsd, 0n);
  const endsAtCheckpoint = state === HoldState.HOLD_STATE_RELEASED || state === HoldState.HOLD_STATE_EXPIRED;
  if (endsAtCheckpoint) return drift('checkpoint at the end of', checkpointNanoUsd, capturedNanoUsd);
  return drift('state of', BigInt(state), BigInt(HoldState.HOLD_STATE_SETTLED));
}

/** Returns the number of the entry that this one is linked to; 0 for none of its account. */
function seqOfLink(entry: Entry): bigint {
  const seq = entry.linkedEntryId === '' ? 0n : seqOfEntryId(entry.linkedEntryId);
  return entry.linkedEntryId === entryId(entry.accountId, seq) ? seq : 0n;
}

function nameOf(bucket: BudgetBucket): string {
  const { budgetId, start } = budgetOfText(bucket.budgetText);
  return start === 0 ? budgetId : `${budgetId} from ${dateText(start)}`;
}

function addTo(sums: Map<string, bigint>, name: string, amountNanoUsd: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + amountNanoUsd);
}

function sum(holds: readonly HoldRecord[]): bigint {
  return holds.reduce((total, hold) => total + hold.amountNanoUsd, 0n);
}
