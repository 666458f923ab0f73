// The files of a spool: reports are appended and made durable; a file is removed once none of its reports is waiting.
import { constants } from 'node:fs';
import { appendFile, type FileHandle, mkdir, open, readdir, readFile, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Logger } from '#kit/log.js';
import { syncPath } from '#kit/sync-path.js';
import { decodeLines, encodeLine, type SpooledReport } from './line.js';

const fileBytesMax = 4 * 1024 * 1024;
/** The names of files with reports. */
export const spoolFilePattern = /^\d{15}-\d{6}\.spool$/;
const damagedSuffix = '.damaged';
const refusedName = 'refused.jsonl';
/** A block of common file systems. */
const trialBytes = 4096;
const trialName = 'trial-write';
const refusedBytesMax = 16 * 1024 * 1024;

/** A file of reports. */
export interface SpoolFile {
  readonly name: string;
  /** Reports in it that are still waiting, and those that are being written. */
  waiting: number;
  bytes: number;
  /** It contains unreadable lines, so it is kept for an operator to inspect. */
  isDamaged: boolean;
}

/** One folder of spool files, used by one process. */
export class SpoolFiles {
  private current: { readonly file: SpoolFile; readonly handle: FileHandle } | undefined;
  private sequence = 0;
  private bytesKept = 0;
  private readonly startedAtMs: number;

  constructor(
    private readonly folder: string,
    private readonly log: Logger,
    nowMs: number,
    private readonly openFile: typeof open = open,
  ) {
    this.startedAtMs = nowMs;
  }

  /** Total size of the files with waiting reports. */
  bytes(): number {
    return this.bytesKept;
  }

  /**
   * Returns the reports that an earlier process left, in the order in which they were appended. A file that cannot be read is renamed and
   * logged as an error; the others are still read.
   */
  async readAll(): Promise<{ file: SpoolFile; reports: readonly SpooledReport[] }[]> {
    const names = (await readdir(this.folder)).filter((name) => spoolFilePattern.test(name)).sort();
    const found: { file: SpoolFile; reports: readonly SpooledReport[] }[] = [];
    for (const name of names) {
      try {
        found.push(await this.read(name));
      } catch (error) {
        this.log.error({ err: error, file: join(this.folder, name) }, 'a spool file cannot be read; it is renamed and kept');
        await this.moveAside(name).catch((moveError: unknown) =>
          this.log.error({ err: moveError, file: name }, 'a spool file cannot be renamed'),
        );
      }
    }
    // These files are never appended to, so that torn or damaged data stay separate from new data.
    for (const { file, reports } of found) if (reports.length === 0) await this.remove(file);
    return found.filter(({ reports }) => reports.length > 0);
  }

  private async read(name: string): Promise<{ file: SpoolFile; reports: readonly SpooledReport[] }> {
    const content = await readFile(join(this.folder, name));
    const { reports, damagedLines, isTorn } = decodeLines(content);
    if (damagedLines > 0)
      this.log.error(
        { file: join(this.folder, name), damaged_lines: damagedLines, reports: reports.length },
        'a spool file is damaged; its readable lines are used',
      );
    if (isTorn)
      this.log.info({ file: join(this.folder, name) }, 'the last line of a spool file is incomplete; its write was never acknowledged');
    this.bytesKept += content.length;
    return { file: { name, waiting: reports.length, bytes: content.length, isDamaged: damagedLines > 0 }, reports };
  }

  /** Appends reports and returns the file once they are durable; on failure, none of them counts. */
  async append(reports: readonly SpooledReport[]): Promise<SpoolFile> {
    const lines = Buffer.from(reports.map(encodeLine).join(''), 'latin1');
    const { file, handle } = await this.writable(reports.length);
    try {
      await handle.appendFile(lines);
      await handle.datasync();
    } catch (error) {
      await this.giveUpCurrent(file, handle);
      // Only now: a file without waiting reports is removed by the last one that is released.
      file.waiting -= reports.length;
      if (file.waiting === 0) await this.remove(file);
      throw error;
    }
    file.bytes += lines.length;
    this.bytesKept += lines.length;
    return file;
  }

  /** Notes that one of the file's reports is no longer waiting. */
  async release(file: SpoolFile): Promise<void> {
    file.waiting -= 1;
    if (file.waiting > 0) return;
    if (this.current?.file === file) {
      const { handle } = this.current;
      this.current = undefined;
      await handle.close();
    }
    await this.remove(file);
  }

  /** Keeps a report that metering permanently rejected, for operators. Throws if there are already too many of them. */
  async keepRefused(report: SpooledReport, reason: string, nowMs: number): Promise<void> {
    const path = join(this.folder, refusedName);
    const size = await stat(path).then(
      (found) => found.size,
      () => 0,
    );
    if (size > refusedBytesMax) throw new Error(`${path} is full; look at what is in it, then move it away.`);
    const line = { call_id: report.callId, refused_at: new Date(nowMs).toISOString(), reason, report: report.bytes.toString('base64') };
    await appendFile(path, `${JSON.stringify(line)}\n`, { flush: true, mode: 0o600 });
  }

  /** Reports whether a file of one block can be written to the folder, and removes it again. Never raises. */
  async isWritable(): Promise<boolean> {
    const path = join(this.folder, trialName);
    try {
      await writeFile(path, Buffer.alloc(trialBytes), { mode: 0o600 });
      return true;
    } catch {
      return false;
    } finally {
      await unlink(path).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    await this.current?.handle.close();
    this.current = undefined;
  }

  /** Returns the file to append to. Its reports are counted before the write, so that it is not removed in the meantime. */
  private async writable(reports: number): Promise<{ file: SpoolFile; handle: FileHandle }> {
    if (this.current !== undefined && this.current.file.bytes < fileBytesMax) {
      this.current.file.waiting += reports;
      return this.current;
    }
    await this.close();
    this.sequence += 1;
    const name = `${String(this.startedAtMs).padStart(15, '0')}-${String(this.sequence).padStart(6, '0')}.spool`;
    const handle = await this.openFile(
      join(this.folder, name),
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND,
      0o600,
    );
    try {
      await syncPath(this.folder);
    } catch (error) {
      await handle.close();
      throw error;
    }
    this.current = { file: { name, waiting: reports, bytes: 0, isDamaged: false }, handle };
    return this.current;
  }

  /** Truncates a file after a failed write, which may have been written in part. The file is never written to again. */
  private async giveUpCurrent(file: SpoolFile, handle: FileHandle): Promise<void> {
    this.current = undefined;
    try {
      await handle.truncate(file.bytes);
      await handle.datasync();
    } catch (error) {
      this.log.warn(
        { err: error, file: file.name },
        'a failed write to the spool could not be undone; its reports may be posted, which is harmless',
      );
    }
    await handle.close().catch(() => undefined);
  }

  private async remove(file: SpoolFile): Promise<void> {
    this.bytesKept -= file.bytes;
    try {
      if (file.isDamaged) await this.moveAside(file.name);
      else await unlink(join(this.folder, file.name));
    } catch (error) {
      // If read again at the next start, its reports are posted again, and metering deduplicates them.
      this.log.warn({ err: error, file: file.name }, 'a spool file without waiting reports could not be removed');
    }
  }

  private async moveAside(name: string): Promise<void> {
    await rename(join(this.folder, name), join(this.folder, `${name}${damagedSuffix}`));
  }
}

/**
 * Returns how many reports were permanently rejected, and how many files are damaged, in a folder and in those of its threads: all are kept until
 * an operator removes them.
 */
export async function countSetAside(root: string): Promise<{ refused: number; damagedFiles: number }> {
  const names = await readdir(root, { recursive: true }).catch(() => [] as string[]);
  let refused = 0;
  for (const name of names.filter((each) => basename(each) === refusedName))
    refused += (await readFile(join(root, name), 'latin1').catch(() => '')).split('\n').length - 1;
  return { refused, damagedFiles: names.filter((name) => name.endsWith(damagedSuffix)).length };
}

/** Creates the folder; throws a system error if that fails. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}
