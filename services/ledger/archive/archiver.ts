// The background job that moves the oldest entries of journals into files: written and synced first, removed afterwards.
import { isId } from '#kit/id.js';
import { writeArchive } from '#kit/archive.js';
import { createFolder } from '#kit/config/folder.js';
import { type Clock, dayMs } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { Pacer } from '#kit/scheduling/pacer.js';
import { repeat } from '#kit/scheduling/repeat.js';
import type { Entry } from '#proto/ledger/v1/ledger.js';
import { type LedgerConfig, ledgerSettings } from '../config.js';
import { entryLine } from './entry-line.js';
import type { RebuildSums } from '../books/model.js';
import { Rebuild } from '../verify/rebuild.js';
import type { ArchivedPart, ArchiveStore } from '../store/archive.js';
import type { Audit } from '../store/audit.js';
import type { Reads } from '../store/reads.js';

const accountsPageSize = 200;
/** Maximum number of entries of one account that are read at once, and that one transaction removes: bounds how long the account is locked. */
const entriesOfPart = 200;
/** A file gets no further part once it has this many entries. */
const entriesOfFile = 10_000;
/** Higher than any entry's number. */
const seqMax = 2n ** 53n - 1n;

interface Part {
  readonly archived: ArchivedPart;
  readonly entries: readonly Entry[];
}

export interface ArchiverDeps {
  readonly config: Pick<LedgerConfig, 'archiveDir' | 'archiveIntervalMs' | 'retentionDays'>;
  readonly reads: Reads;
  readonly audit: Audit;
  readonly store: ArchiveStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Archives periodically until it is stopped; does nothing without a folder. */
export class Archiver {
  private stopRepeating: () => Promise<void> = async () => {};
  private isStopping = false;

  constructor(private readonly deps: ArchiverDeps) {}

  start(): void {
    const { config, log } = this.deps;
    if (config.archiveDir === undefined) return;
    const folder = config.archiveDir;
    createFolder(ledgerSettings.archiveDir.env, folder);
    this.stopRepeating = repeat(
      config.archiveIntervalMs,
      () => this.archive(folder),
      (error) => log.error({ err: error }, 'old entries of the journal could not be archived; this will be retried'),
    );
  }

  /** Waits for work in progress. */
  stop(): Promise<void> {
    this.isStopping = true;
    return this.stopRepeating();
  }

  /** Archives everything older than the retention; returns how many entries it removed. Several replicas may write an entry twice, into different files. */
  async archive(folder: string): Promise<number> {
    const { clock, config, store } = this.deps;
    const untilMs = clock.nowMs() - config.retentionDays * dayMs;
    await store.noteUntil(untilMs);
    const pacer = new Pacer();
    const parts = this.oldParts(untilMs, pacer);
    let archived = 0;
    for (let removed: number | undefined = 0; removed !== undefined; removed = await this.move(folder, parts, pacer)) archived += removed;
    while (!this.isStopping && (await store.removeHoldsWithoutEntries(untilMs, entriesOfPart)) === entriesOfPart) await pacer.step();
    return archived;
  }

  /** Writes the next parts into a file and then removes them from the database; returns the number of entries removed, or undefined if no part is left. */
  private async move(folder: string, parts: AsyncGenerator<Part, undefined>, pacer: Pacer): Promise<number | undefined> {
    const { clock, store, log } = this.deps;
    const written: { archived: ArchivedPart; entryCount: number }[] = [];
    let entryCount = 0;
    async function* pages() {
      while (entryCount < entriesOfFile) {
        const { value: part } = await parts.next();
        if (part === undefined) return;
        const { archived, entries } = part;
        written.push({ archived, entryCount: entries.length });
        entryCount += entries.length;
        yield entries.map(entryLine);
      }
    }
    const path = await writeArchive(folder, 'journal', pages(), clock.nowMs());
    if (path === undefined) return undefined;
    let removed = 0;
    for (const part of written) {
      if (await store.remove(part.archived)) removed += part.entryCount;
      await pacer.step();
    }
    log.info({ path, entries: entryCount, removed }, 'old entries of the journal were archived');
    return removed;
  }

  /** Yields the old parts of all accounts, those of one account in order. */
  private async *oldParts(untilMs: number, pacer: Pacer): AsyncGenerator<Part, undefined> {
    for (let last: string | undefined; ;) {
      const accountIds = await this.deps.audit.accountIdsAfter(last, accountsPageSize);
      for (const accountId of accountIds) {
        let base = await this.deps.reads.base(accountId);
        for (;;) {
          await pacer.step();
          if (this.isStopping) return;
          const part = await this.partAfter(accountId, base, untilMs);
          if (part === undefined) break;
          yield part;
          base = part.archived.sums;
        }
      }
      last = accountIds.at(-1);
      if (accountIds.length < accountsPageSize) return;
    }
  }

  /** Returns the next part of an account's journal that is old enough. An inconsistent part stays in the database for inspection. */
  private async partAfter(accountId: string, base: RebuildSums | undefined, untilMs: number): Promise<Part | undefined> {
    const { reads, log } = this.deps;
    const afterSeq = BigInt(base?.seq ?? 0);
    if ((await reads.createdAtMsAfter(accountId, afterSeq)) >= untilMs) return undefined;
    const page = await reads.entriesBetween(accountId, afterSeq, seqMax, entriesOfPart);
    const firstYoung = page.findIndex((entry) => Number(entry.createdAtMs) >= untilMs);
    const entries = firstYoung === -1 ? page : page.slice(0, firstYoung);
    const end = entries.at(-1);
    if (end === undefined) return undefined;
    const holdIds = [...new Set(entries.map((entry) => entry.reference).filter((reference) => isId('req', reference)))];
    const holds = new Map((await reads.holdsByName(holdIds.map((holdId) => ({ accountId, holdId })))).map((hold) => [hold.id, hold]));
    const rebuild = new Rebuild(accountId, base);
    for (const entry of entries) rebuild.add(entry, holds.get(entry.reference));
    if (rebuild.drifts.length > 0) {
      // Another replica has archived some of these entries, or their holds, since the base was read.
      if ((await reads.baseSeq(accountId)) > afterSeq) return undefined;
      log.error({ account_id: accountId, drifts: rebuild.drifts.length }, 'the books disagree, so this account is not archived');
      return undefined;
    }
    const archived = { accountId, afterSeq, lastSeq: end.seq, untilMs, holdIds, sums: rebuild.sums(), budgetSpend: rebuild.budgetSpend() };
    return { archived, entries };
  }
}
