// Syncs the write-ahead log of a SQLite file to disk off the event loop's thread. A commit with `synchronous = NORMAL` only writes to the log, and a
// sync of the log makes it durable, together with all commits before it (sqlite.org/wal.html#performance_considerations).
import { close, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { countSync } from '../statements/db-metrics.js';

/** Syncs an open file; tests replace it. */
export type SyncFile = (fd: number) => Promise<void>;

/** Syncs the data of a file, in Node's thread pool. */
export const syncFile: SyncFile = promisify(fdatasync);

/** The log of one database. */
export class WalSync {
  private fd: number | undefined;
  private failure: Error | undefined;

  constructor(
    private readonly filename: string,
    private readonly sync: SyncFile,
    private readonly onFailure: ((error: Error) => void) | undefined,
  ) {}

  /** Opens the log, which exists once a transaction has begun. The connection keeps it open, so the file is not replaced. */
  open(): void {
    this.fd ??= openSync(`${this.filename}-wal`, 'r+');
  }

  /**
   * Makes all commits durable, once the log is open. After a failure the kernel may have dropped the pages that it could not write, and a second sync would
   * succeed without them. What the database returns from then on may not be on disk, so `assertSound` raises the failure until the
   * process has been restarted and has read the log from the disk.
   */
  async run(): Promise<void> {
    this.assertSound();
    const beganAtMs = performance.now();
    try {
      await this.sync(this.fd!);
      countSync(beganAtMs);
    } catch (error) {
      this.failure = new SyncError(this.filename, error);
      this.onFailure?.(this.failure);
      throw this.failure;
    }
  }

  /** Raises the failure of an earlier sync. */
  assertSound(): void {
    if (this.failure !== undefined) throw this.failure;
  }

  async close(): Promise<void> {
    if (this.fd !== undefined) await promisify(close)(this.fd);
    this.fd = undefined;
  }
}

/** Has the code that SQLite gives to a sync that failed. */
class SyncError extends Error {
  readonly code = 'SQLITE_IOERR_FSYNC';

  constructor(filename: string, cause: unknown) {
    super(`The database ${filename} could not be synced to disk, and is not used until the process is restarted.`, { cause });
  }
}
