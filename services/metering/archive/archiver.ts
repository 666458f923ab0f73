// The background job that moves old usage records into files: written and synced first, removed afterwards.
import { writeArchive } from '#kit/archive.js';
import { createFolder } from '#kit/config/folder.js';
import { type Clock, dayMs } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { repeat } from '#kit/scheduling/repeat.js';
import { type MeteringConfig, meteringSettings } from '../config.js';
import { recordLine } from './record-line.js';
import { noteArchivedUntil, oldSettledRecords } from '../store/archive.js';
import { removeRecords } from '../store/sums/rollup-steps.js';
import { bytesOf } from '../store/records/record-rows.js';
import { SeriesNumbers } from '../store/sums/rollups.js';

/** Maximum number of records per file, all of which are in memory while it is written. */
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
    let archived = 0;
    for (;;) {
      const records = await oldSettledRecords(db, untilMs, recordsOfFile);
      if (records.length === 0 || this.isStopping) return archived;
      await noteArchivedUntil(db, untilMs);
      const path = await writeArchive(folder, 'usage', records.map(recordLine), nowMs);
      await removeRecords(
        db,
        this.numbers,
        records.map(({ call }) => bytesOf('req', call!.id)),
      );
      log.info({ path, records: records.length }, 'old usage records were archived');
      archived += records.length;
    }
  }
}
