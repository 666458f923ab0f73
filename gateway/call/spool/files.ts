// The files of a spool: reports are appended and made durable; a file is removed once nothing in it is waiting any more.
import { constants } from 'node:fs';
import { appendFile, type FileHandle, mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '#kit/log.js';
import { decodeLines, encodeLine, type SpooledReport } from './line.js';

const fileBytesMax = 4 * 1024 * 1024;
const namePattern = /^\d{15}-\d{6}\.spool$/;
const damagedSuffix = '.damaged';
const refusedName = 'refused.jsonl';
const refusedBytesMax = 16 * 1024 * 1024;

/** A file of reports. */
export interface SpoolFile {
  readonly name: string;
  /** Reports in it that still wait, and those that are being written. */
  waiting: number;
  bytes: number;
  /** It holds lines that cannot be read, so it is kept for people to look at. */
  isDamaged: boolean;
}

/** One folder of spool files, of one process. */
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

  /** Bytes of all files whose reports wait. */
  bytes(): number {
    return this.bytesKept;
  }

  /**
   * The reports that an earlier process left, in the order in which they were appended. A file that cannot be read is renamed and
   * told as an error; the others are read all the same.
   */
  async readAll(): Promise<{ file: SpoolFile; reports: readonly SpooledReport[] }[]> {
    const names = (await readdir(this.folder)).filter((name) => namePattern.test(name)).sort();
    const found: { file: SpoolFile; reports: readonly SpooledReport[] }[] = [];
    for (const name of names) {
      try {
        found.push(await this.read(name));
      } catch (error) {
        this.log.error({ err: error, file: join(this.folder, name) }, 'a spool file cannot be read; it is set aside');
        await this.moveAside(name).catch((moveError: unknown) =>
          this.log.error({ err: moveError, file: name }, 'a spool file cannot be set aside'),
        );
      }
    }
    // None of these files is ever appended to, so that what is torn or damaged stays apart from what is new.
    for (const { file, reports } of found) if (reports.length === 0) await this.remove(file);
    return found.filter(({ reports }) => reports.length > 0);
  }

  private async read(name: string): Promise<{ file: SpoolFile; reports: readonly SpooledReport[] }> {
    const content = await readFile(join(this.folder, name));
    const { reports, damagedLines, isTorn } = decodeLines(content);
    if (damagedLines > 0)
      this.log.error(
        { file: join(this.folder, name), damaged_lines: damagedLines, reports: reports.length },
        'a spool file is damaged; what can be read of it is used',
      );
    if (isTorn)
      this.log.info(
        { file: join(this.folder, name) },
        'the last line of a spool file was cut off while it was written; nobody relied on it',
      );
    this.bytesKept += content.length;
    return { file: { name, waiting: reports.length, bytes: content.length, isDamaged: damagedLines > 0 }, reports };
  }

  /** Appends reports and returns the file once they are durable; when that fails, none of them counts. */
  async append(reports: readonly SpooledReport[]): Promise<SpoolFile> {
    const lines = Buffer.from(reports.map(encodeLine).join(''), 'latin1');
    const { file, handle } = await this.writable(reports.length);
    try {
      await handle.appendFile(lines);
      await handle.datasync();
    } catch (error) {
      file.waiting -= reports.length;
      await this.giveUpCurrent(file, handle);
      throw error;
    }
    file.bytes += lines.length;
    this.bytesKept += lines.length;
    return file;
  }

  /** One of the file's reports waits no more. */
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

  /** Keeps a report that metering refused for good, for operators. Raises when there are too many of them already. */
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

  /** How many reports were refused for good, and how many files are damaged: all are kept until an operator removes them. */
  async countSetAside(): Promise<{ refused: number; damagedFiles: number }> {
    const text = await readFile(join(this.folder, refusedName), 'latin1').catch(() => '');
    const names = await readdir(this.folder).catch(() => [] as string[]);
    return { refused: text.split('\n').length - 1, damagedFiles: names.filter((name) => name.endsWith(damagedSuffix)).length };
  }

  async close(): Promise<void> {
    await this.current?.handle.close();
    this.current = undefined;
  }

  /** The file to append to. Its reports are counted before the write, so that it is not removed meanwhile. */
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
      await syncFolder(this.folder);
    } catch (error) {
      await handle.close();
      throw error;
    }
    this.current = { file: { name, waiting: reports, bytes: 0, isDamaged: false }, handle };
    return this.current;
  }

  /** After a failed write the file may hold half of it. It is cut back and never written to again. */
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
    if (file.waiting === 0) await this.remove(file);
  }

  private async remove(file: SpoolFile): Promise<void> {
    this.bytesKept -= file.bytes;
    try {
      if (file.isDamaged) await this.moveAside(file.name);
      else await unlink(join(this.folder, file.name));
    } catch (error) {
      // Read again at the next start, its reports are posted again, and metering knows them.
      this.log.warn({ err: error, file: file.name }, 'a spool file that is done with could not be removed');
    }
  }

  private async moveAside(name: string): Promise<void> {
    await rename(join(this.folder, name), join(this.folder, `${name}${damagedSuffix}`));
  }
}

/** Makes the folder; raises an Error of the system when it cannot be. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** A new file is durable only with the folder that names it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
