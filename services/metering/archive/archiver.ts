// The background job that moves old usage records into files: written and synced first, removed afterwards.
import { writeArchive } from '#kit/archive.js';
import { createFolder } from '#kit/config/folder.js';
import { type Clock, dayMs } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { Pacer } from '#kit/scheduling/pacer.js';
import { repeat } from '#kit/scheduling/repeat.js';
import type { UsageRecord } from '#proto/metering/v1/metering.js';
import { type MeteringConfig, meteringSettings } from '../config.js';
import { recordLine } from './record-line.js';
import { noteArchivedUntil, oldSettledRecords } from '../store/archive.js';
import { removeRecords } from '../store/sums/rollup-steps.js';
import { bytesOf } from '../store/records/record-rows.js';
import { SeriesNumbers } from '../store/sums/rollups.js';

/** Maximum number of records that are read at once, and that one transaction removes. */
const recordsOfPage = 100;
/** Maximum number of records per file. */
const recordsOfFile = 10_000;

export interface ArchiverDeps {
  readonly config: Pick<MeteringConfig, 'archiveDir' | 'archiveIntervalMs' | 'retentionDays'>;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Archives periodically until it is stopped; does nothing without a folder. */
export class Archiver {
  private stopRepeating: () => Promise<void> = async () => {};
  private isStopping = false;
  private readonly numbers = new SeriesNumbers();

  constructor(private readonly deps: ArchiverDeps) {}

  start(): void {
    const { config, log } = this.deps;
    if (config.archiveDir === undefined) return;
    const folder = config.archiveDir;
    createFolder(meteringSettings.archiveDir.env, folder);
    this.stopRepeating = repeat(
      config.archiveIntervalMs,
      () => this.archive(folder),
      (error) => log.error({ err: error }, 'old usage records could not be archived; this will be retried'),
    );
  }

  /** Waits for work in progress. */
  stop(): Promise<void> {
    this.isStopping = true;
    return this.stopRepeating();
  }

  /**
   * Archives all settled records of calls that started before the retention; returns how many. A record that is not settled stays until
   * it is. Several replicas, or a crash in between, may write a record twice, into different files.
   */
  async archive(folder: string): Promise<number> {
    const { clock, config, db, log } = this.deps;
    const nowMs = clock.nowMs();
    const untilMs = nowMs - config.retentionDays * dayMs;
    const pacer = new Pacer();
    let archived = 0;
    for (;;) {
      const written: Buffer[][] = [];
      const path = await writeArchive(folder, 'usage', this.pages(untilMs, written, pacer), nowMs);
      if (path === undefined) return archived;
      await noteArchivedUntil(db, untilMs);
      let count = 0;
      for (const ids of written) {
        await removeRecords(db, this.numbers, ids);
        await pacer.step();
        count += ids.length;
      }
      log.info({ path, records: count }, 'old usage records were archived');
      archived += count;
    }
  }

  /** Yields the lines of the oldest records as pages, and adds the ids of each page to `written`. */
  private async *pages(untilMs: number, written: Buffer[][], pacer: Pacer): AsyncGenerator<Record<string, unknown>[]> {
    let last: UsageRecord | undefined;
    for (let count = 0; count < recordsOfFile && !this.isStopping; count += recordsOfPage) {
      const records = await oldSettledRecords(this.deps.db, untilMs, last, recordsOfPage);
      last = records.at(-1);
      if (last === undefined) return;
      written.push(records.map(({ call }) => bytesOf('req', call!.id)));
      yield records.map(recordLine);
      await pacer.step();
    }
  }
}
