// The gateway's durable spool: reports of ended calls that metering could not store are kept on disk and posted once it can.
//
// A report is durable before `append` resolves. It is posted until metering answers, in the order of arrival, and its file is
// removed only after that; a report that is posted twice changes nothing, since metering knows each call id.
import { RecordUsageRequest } from '#proto/metering/v1/metering.js';
import { BatchLane } from '#kit/scheduling/batch-lane.js';
import type { Clock } from '#kit/clock.js';
import { lockFolder } from '#kit/db/sqlite/folder-lock.js';
import { AppError } from '#client/errors/app-error.js';
import type { Part } from '#kit/lifecycle.js';
import { activeTraceparent } from '#client/traceparent.js';
import type { Logger } from '#kit/log.js';
import { withTraceparent } from '#kit/rpc/traceparent.js';
import type { Occupancy } from '../../../http/occupancy.js';
import { countSetAside, makeFolder, type SpoolFile, SpoolFiles } from './files.js';
import { lineBytes, type SpooledReport, spooled } from './line.js';
import { Poster, type PostOutcome } from './poster.js';

/** Maximum number of reports per write. */
const batchMax = 500;
/** Maximum number of reports that wait for a write; more than the default number of calls in flight. */
const queueMax = 10_000;
/** Maximum size of the reports that wait for a write, so that neither a write nor a file is ever too large to be read again. */
const writingBytesMax = 64 * 1024 * 1024;
/** The share of the space that answers kept for repeats may take: a report without its answer is better than none. */
const answersShare = 0.5;
/** The minimum interval between counts of the files that are kept for operators. */
const lookIntervalMs = 1000;
/** The minimum interval between trial writes to the disk. */
const trialIntervalMs = 1000;

/** The status of the spools of all threads. */
export interface SpoolState {
  /** Reports that metering has not recorded yet. */
  readonly waiting: number;
  /** Reports that metering permanently rejected; kept for operators. */
  readonly refused: number;
  /** Files with unreadable lines; kept for operators. */
  readonly damagedFiles: number;
}

/** What the recorder needs from a spool. */
export interface Spool extends Part {
  /**
   * Resolves once the report is durable, without its kept answer if that would take the space of other reports. A later report of
   * the same call replaces it. Throws overloaded if the spool is full, and errors of the disk.
   */
  append(request: RecordUsageRequest): Promise<void>;
  /** Returns the status of all spools. The files are re-read periodically, since operators move them away. */
  state(): Promise<SpoolState>;
  /** Returns what waits in this spool. */
  own(): { readonly waiting: number; readonly bytes: number; readonly oldestAgeMs: number };
  /** Reports whether a report could be appended: there is room for it, and its disk can be written. Never raises. */
  hasRoom(): Promise<boolean>;
}

/** The dependencies of a spool. */
export interface SpoolDeps {
  /** A folder used by this gateway only. */
  readonly folder: string;
  /** The folder with the spools of all threads: the same, or its parent. */
  readonly root: string;
  readonly occupancy: Pick<Occupancy, 'spooled' | 'countSpooled'>;
  readonly bytesMax: number;
  readonly reportsMax: number;
  /** Posts one report; throws why metering rejected it, or why there was no answer. */
  readonly post: (request: RecordUsageRequest) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Entry {
  readonly report: SpooledReport;
  readonly file: SpoolFile;
  /** When it was spooled, or read again. */
  readonly sinceMs: number;
}

/** Creates a spool. `start` throws failed_precondition if its folder cannot be used or another process uses it. */
export function createSpool(deps: SpoolDeps): Spool {
  const { folder, root, occupancy, bytesMax, reportsMax, post, clock, log } = deps;
  const files = new SpoolFiles(folder, log, clock.nowMs());
  /** The entries by call id, in posting order. */
  const entries = new Map<string, Entry>();
  let seen: { atMs: number; setAside: ReturnType<typeof countSetAside> } | undefined;
  let trial: { atMs: number; isWritable: Promise<boolean> } | undefined;
  let unlock = (): void => undefined;
  let isOpen = false;
  /** Bytes of reports that wait for a write, as they will be in the file. */
  let writingBytes = 0;
  let isShortOfRoom = false;

  const poster = new Poster<Entry>({
    next: (count) => firstOf(entries.values(), count),
    post: ({ report }) => withTraceparent(report.traceparent, () => post(RecordUsageRequest.decode(report.bytes))),
    settle,
  });
  const lane = new BatchLane<SpooledReport>({
    name: 'spooled reports',
    async apply(reports) {
      const file = await files.append(reports);
      for (const report of reports) await put({ report, file, sinceMs: clock.monotonicMs() });
      poster.wake();
      return reports.map(() => undefined);
    },
    // A disk error fails all of them.
    isOfOneItem: () => false,
    batchMax,
    queueMax,
  });

  async function put(entry: Entry): Promise<void> {
    const { callId } = entry.report;
    const before = entries.get(callId);
    entries.set(callId, entry);
    if (before === undefined) occupancy.countSpooled(1);
    else await files.release(before.file);
  }

  async function settle(entry: Entry, outcome: PostOutcome): Promise<void> {
    const { callId } = entry.report;
    // A later report of the call has replaced it in the meantime, and will get the same answer.
    if (entries.get(callId) !== entry) return;
    // Moved to the end, so that a single report that cannot be stored does not block the others.
    entries.delete(callId);
    entries.set(callId, entry);
    if (outcome.kind === 'failed') return;
    if (outcome.kind === 'refused') await keepRefused(entry, outcome.reason);
    if (entries.get(callId) !== entry) return;
    entries.delete(callId);
    occupancy.countSpooled(-1);
    await files.release(entry.file);
    if (entries.size === 0) log.info('every spooled call is recorded');
  }

  async function keepRefused({ report }: Entry, reason: string): Promise<void> {
    await files.keepRefused(report, reason, clock.nowMs());
    seen = undefined;
    log.error({ call_id: report.callId, reason, folder }, 'metering permanently rejected a spooled call; it is kept in refused.jsonl');
  }

  const isFull = (): boolean => entries.size >= reportsMax || files.bytes() + writingBytes >= bytesMax || writingBytes >= writingBytesMax;

  /** Returns the report, without its answer if there is no room for it. */
  function fitting(request: RecordUsageRequest): SpooledReport {
    // A later report of a call replaces the earlier one: since that was accepted, this must be, too.
    if (isFull() && !entries.has(request.call!.id)) throw new AppError('overloaded', 'The spool is full.');
    const traceparent = activeTraceparent();
    const report = spooled(request, traceparent);
    if (request.storedAnswer.length === 0) return report;
    const room = Math.min(answersShare * bytesMax - files.bytes(), answersShare * writingBytesMax) - writingBytes;
    const hasRoom = lineBytes(report) <= room;
    if (!hasRoom && !isShortOfRoom)
      log.warn(
        { call_id: request.call!.id, folder },
        'the spool has no room for answers: from now on the answers of calls with an idempotency key are not stored with their reports',
      );
    isShortOfRoom = !hasRoom;
    return hasRoom ? report : spooled({ ...request, storedAnswer: Buffer.alloc(0) }, traceparent);
  }

  return {
    name: 'spool',
    async start() {
      try {
        await makeFolder(folder);
        unlock = lockFolder(folder, 'TOLLGATE_GATEWAY_SPOOL_DIR');
        for (const { file, reports } of await files.readAll())
          for (const report of reports) await put({ report, file, sinceMs: clock.monotonicMs() });
      } catch (error) {
        unlock();
        if (error instanceof AppError) throw error;
        throw new AppError(
          'failed_precondition',
          `The spool folder ${folder} cannot be used; make it writable for this user, or set TOLLGATE_GATEWAY_SPOOL_DIR to another.`,
          { cause: error },
        );
      }
      isOpen = true;
      if (entries.size > 0) log.warn({ calls: entries.size, folder }, 'calls that an earlier process could not record are posted now');
      poster.start();
    },
    async stop() {
      isOpen = false;
      await lane.idle();
      await poster.stop();
      await files.close();
      if (entries.size > 0) log.warn({ calls: entries.size, folder }, 'calls wait in the spool for the next start');
      unlock();
    },
    async append(request) {
      if (!isOpen) throw new AppError('service_unavailable', 'The spool is closed.');
      const report = fitting(request);
      const bytes = lineBytes(report);
      writingBytes += bytes;
      try {
        await lane.add(report);
      } finally {
        writingBytes -= bytes;
      }
    },
    async state() {
      const nowMs = clock.monotonicMs();
      if (seen === undefined || nowMs - seen.atMs >= lookIntervalMs) seen = { atMs: nowMs, setAside: countSetAside(root) };
      return { waiting: occupancy.spooled(), ...(await seen.setAside) };
    },
    own() {
      let oldestMs = clock.monotonicMs();
      const nowMs = oldestMs;
      for (const { sinceMs } of entries.values()) oldestMs = Math.min(oldestMs, sinceMs);
      return { waiting: entries.size, bytes: files.bytes(), oldestAgeMs: nowMs - oldestMs };
    },
    async hasRoom() {
      if (!isOpen || isFull()) return false;
      const nowMs = clock.monotonicMs();
      if (trial === undefined || nowMs - trial.atMs >= trialIntervalMs) trial = { atMs: nowMs, isWritable: files.isWritable() };
      return trial.isWritable;
    },
  };
}

function firstOf<T>(items: Iterable<T>, count: number): T[] {
  const first: T[] = [];
  for (const item of items) {
    if (first.length >= count) break;
    first.push(item);
  }
  return first;
}
