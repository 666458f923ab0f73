// The background job that moves the old beginnings of journals into files: written and synced first, removed after.
import { isId } from '#kit/id.js';
import { writeArchive } from '#kit/archive.js';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { repeat } from '#kit/repeat.js';
import type { Entry } from '#proto/ledger/v1/ledger.js';
import type { LedgerConfig } from './config.js';
import { entryLine } from './entry-line.js';
import { Rebuild } from './rebuild.js';
import type { ArchivedPart, ArchiveStore } from './store/archive.js';
import type { Audit } from './store/audit.js';
import type { Reads } from './store/reads.js';

const accountsPageSize = 200;
/** Entries of one account that one transaction removes at most: bounds how long the account is locked. */
const entriesOfPart = 1000;
/** Entries of one file at most, which are in memory while it is written. */
const entriesOfFile = 50_000;
const msPerDay = 86_400_000;

export interface ArchiverDeps {
  readonly config: Pick<LedgerConfig, 'archiveDir' | 'archiveIntervalMs' | 'retentionDays'>;
  readonly reads: Reads;
  readonly audit: Audit;
  readonly store: ArchiveStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Archives again and again until it is stopped; does nothing without a folder. */
export class Archiver {
  private stopRepeating: () => Promise<void> = async () => {};
  private isStopping = false;
  private areDaysMended = false;

  constructor(private readonly deps: ArchiverDeps) {}

  start(): void {
    const { config, log } = this.deps;
    if (config.archiveDir === undefined) return;
    const folder = config.archiveDir;
    this.stopRepeating = repeat(
      config.archiveIntervalMs,
      async () => {
        await this.archive(folder);
      },
      (error) => log.error({ err: error }, 'old entries of the journal could not be archived; this will be tried again'),
    );
  }

  /** Waits for what is under way. */
  stop(): Promise<void> {
    this.isStopping = true;
    return this.stopRepeating();
  }

  /** Archives all that is older than the retention; how many entries that were. Several replicas may write an entry twice, into different files. */
  async archive(folder: string): Promise<number> {
    const { clock, config, store, log } = this.deps;
    const nowMs = clock.nowMs();
    const untilMs = nowMs - config.retentionDays * msPerDay;
    await this.mendDays();
    let archived = 0;
    await store.noteUntil(untilMs);
    for (let batch = await this.batch(untilMs); batch.entries.length > 0 && !this.isStopping; batch = await this.batch(untilMs)) {
      const path = await writeArchive(folder, 'journal', batch.entries.map(entryLine), nowMs);
      let removed = 0;
      for (const part of batch.parts) removed += (await store.remove(part)) ? 1 : 0;
      log.info({ path, entries: batch.entries.length, accounts: removed }, 'old entries of the journal were archived');
      archived += batch.entries.length;
      // Another replica archives the same accounts; it goes on with them.
      if (removed === 0) break;
    }
    while (!this.isStopping && (await store.removeHoldsWithoutEntries(untilMs, entriesOfPart)) === entriesOfPart);
    return archived;
  }

  /** Looks through the whole journal, so only once in the life of a process: versions that write no day are not started any more. */
  private async mendDays(): Promise<void> {
    while (!this.areDaysMended && !this.isStopping) this.areDaysMended = (await this.deps.store.mendDays(entriesOfPart)) < entriesOfPart;
  }

  /** Old entries of as many accounts as go into one file. */
  private async batch(untilMs: number): Promise<{ entries: Entry[]; parts: ArchivedPart[] }> {
    const entries: Entry[] = [];
    const parts: ArchivedPart[] = [];
    for (let last: string | undefined; entries.length < entriesOfFile && !this.isStopping; ) {
      const accountIds = await this.deps.audit.accountIdsAfter(last, accountsPageSize);
      for (const accountId of accountIds) {
        if (entries.length >= entriesOfFile) break;
        const part = await this.partOf(accountId, untilMs);
        if (part === undefined) continue;
        parts.push(part.part);
        entries.push(...part.entries);
      }
      last = accountIds.at(-1);
      if (accountIds.length < accountsPageSize) break;
    }
    return { entries, parts };
  }

  /** The next part of an account's journal that is old enough. One that contradicts itself stays where it can be looked at. */
  private async partOf(accountId: string, untilMs: number): Promise<{ part: ArchivedPart; entries: Entry[] } | undefined> {
    const { reads, log } = this.deps;
    const { base, lastSeq: newestSeq } = await reads.snapshot(accountId);
    const afterSeq = BigInt(base?.seq ?? 0);
    const page = await reads.entriesBetween(accountId, afterSeq, newestSeq, entriesOfPart);
    const firstYoung = page.findIndex((entry) => Number(entry.createdAtMs) >= untilMs);
    const entries = firstYoung === -1 ? page : page.slice(0, firstYoung);
    const end = entries.at(-1);
    if (end === undefined) return undefined;
    const holdIds = [...new Set(entries.map((entry) => entry.reference).filter((reference) => isId('req', reference)))];
    const holds = new Map((await reads.holds(accountId, holdIds)).map((hold) => [hold.id, hold]));
    const rebuild = new Rebuild(accountId, base);
    for (const entry of entries) rebuild.add(entry, holds.get(entry.reference));
    if (rebuild.drifts.length > 0) {
      log.error({ account_id: accountId, drifts: rebuild.drifts.length }, 'the books disagree, so this account is not archived');
      return undefined;
    }
    return { part: { accountId, afterSeq, lastSeq: end.seq, untilMs, holdIds, sums: rebuild.sums() }, entries };
  }
}
