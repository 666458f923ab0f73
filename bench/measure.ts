// Measures one window: a load on a contender, with the CPU of each thread, the memory and the writes that it took, from /proc.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { liveBytes } from './live-memory.ts';
import { type Load, type LoadResult, percentile, runLoad } from './load.ts';
import type { Contender } from './processes.ts';

/** CPU in microseconds by process and by thread, `gateway MainThread` for example. */
export type CpuUs = Readonly<Record<string, number>>;

/** The figures of one window, per call where that makes sense. */
export interface Measured {
  readonly calls: number;
  readonly callsPerSecond: number;
  readonly eventsPerCall: number;
  readonly cpuUs: number;
  /** The part of it that was used after the last answer: settlements and the roll-up. */
  readonly afterUs: number;
  readonly cpuUsByThread: CpuUs;
  readonly databaseCpuUs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly firstTokenMs: number;
  /** CPU of the load and of the vendor. */
  readonly loadUs: number;
  /** Bytes that the kernel accounts to the processes for storage, with those of the database server. */
  readonly writtenBytes: number;
}

type Pids = Readonly<Record<string, number>>;

const sum = (values: Iterable<number>): number => {
  let total = 0;
  for (const value of values) total += value;
  return total;
};

/** Returns the CPU time of every thread of these processes: user and system (Documentation/scheduler/sched-stats.rst, field 1 of schedstat, in ns). */
function cpuByThread(pids: Pids): CpuUs {
  const used: Record<string, number> = {};
  for (const [name, pid] of Object.entries(pids)) {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      try {
        const comm = readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim();
        used[`${thread} ${name} ${comm}`] = Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1000;
      } catch {
        // A thread ended between the two reads.
      }
    }
  }
  return used;
}

/** Returns the CPU microseconds of all threads of these processes. */
export function cpuOf(pids: readonly number[]): number {
  return sum(Object.values(cpuByThread(Object.fromEntries(pids.map((pid) => [String(pid), pid])))));
}

const writtenBytes = (pids: Pids): number =>
  sum(Object.values(pids).map((pid) => Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))![1])));

/** Returns what was used between two readings, by the names of the threads. Of a thread that has ended in between, it is not known. */
function since(before: CpuUs, after: CpuUs): CpuUs {
  const used: Record<string, number> = {};
  for (const [thread, us] of Object.entries(after)) {
    const name = thread.slice(thread.indexOf(' ') + 1);
    used[name] = (used[name] ?? 0) + us - (before[thread] ?? 0);
  }
  return used;
}

/** Returns what was used during a load, with this share of what was used after it. */
function together(during: CpuUs, after: CpuUs, share: number): CpuUs {
  const names = new Set([...Object.keys(during), ...Object.keys(after)]);
  return Object.fromEntries([...names].map((name) => [name, (during[name] ?? 0) + (after[name] ?? 0) * share]));
}

/** Returns the CPU microseconds that each contender uses per second without calls. */
export async function idleOf(contenders: readonly Contender[], seconds: number): Promise<Map<Contender, number>> {
  const before = contenders.map(({ pids }) => cpuByThread(pids));
  await sleep(seconds * 1000);
  return new Map(contenders.map((each, index) => [each, sum(Object.values(since(before[index]!, cpuByThread(each.pids)))) / seconds]));
}

/**
 * Every window begins with this much of the same load, unmeasured. After minutes without calls, the first second costs a contender several
 * times as much, a plain relay too, because the kernel has taken its pages; right after another window of the same contender, it does not.
 */
export const leadInMs = { first: 1000, next: 200 } as const;

/**
 * Runs a load. The figures follow once its calls are settled and rolled up, so that all of their work is inside the window; meanwhile, other contenders
 * can be measured. What the contender uses without calls is subtracted for the time of that wait. Work that the lead-in left behind is divided
 * among its calls too.
 */
export async function measure(
  contender: Contender,
  load: Omit<Load, 'url' | 'headers'> & { path: string },
  { idleUs, leadInMs: leadMs }: { readonly idleUs: number; readonly leadInMs: number },
  vendor: Contender,
): Promise<{ measured: Promise<Measured> }> {
  const { pids, databasePids = {}, tailMs, origin, headers } = contender;
  const run = (each: Omit<Load, 'url' | 'headers'>): Promise<LoadResult> => runLoad({ ...each, url: `${origin}${load.path}`, headers });
  const read = () => ({
    cpu: cpuByThread(pids),
    databaseCpu: cpuByThread(databasePids),
    written: writtenBytes({ ...pids, ...databasePids }),
  });
  const leadIn = await run({ ...load, durationMs: leadMs });
  const loadPids = [process.pid, ...Object.values(vendor.pids)];
  const loadBefore = cpuOf(loadPids);
  const before = read();
  const { calls, events, seconds, latenciesMs, firstTokensMs } = await run(load);
  const loadUs = cpuOf(loadPids) - loadBefore;
  const atEnd = read();
  const measured = async (): Promise<Measured> => {
    await sleep(tailMs);
    const atRest = read();
    const share = calls / (leadIn.calls + calls);
    const afterUs = (sum(Object.values(since(atEnd.cpu, atRest.cpu))) - (idleUs * tailMs) / 1000) * share;
    const used = together(since(before.cpu, atEnd.cpu), since(atEnd.cpu, atRest.cpu), share);
    const usedByDatabase = together(since(before.databaseCpu, atEnd.databaseCpu), since(atEnd.databaseCpu, atRest.databaseCpu), share);
    return {
      calls,
      callsPerSecond: calls / seconds,
      eventsPerCall: events / calls,
      cpuUs: (sum(Object.values(used)) - ((idleUs * tailMs) / 1000) * share) / calls,
      afterUs: Math.max(0, afterUs) / calls,
      cpuUsByThread: Object.fromEntries(Object.entries(used).map(([name, us]) => [name, us / calls])),
      databaseCpuUs: sum(Object.values(usedByDatabase)) / calls,
      loadUs: loadUs / calls,
      p50Ms: percentile(latenciesMs, 0.5),
      p99Ms: percentile(latenciesMs, 0.99),
      firstTokenMs: percentile(firstTokensMs, 0.5),
      writtenBytes: (atEnd.written - before.written + (atRest.written - atEnd.written) * share) / calls,
    };
  };
  return { measured: measured() };
}

async function liveBytesOf(pids: Pids): Promise<number> {
  let bytes = 0;
  for (const [name, pid] of Object.entries(pids)) {
    // The signal that opens the inspector of Node ends Redis, which keeps nothing per stream.
    if (name !== 'redis') bytes += await liveBytes(pid);
  }
  return bytes;
}

/** Returns the live memory that an open stream adds: the growth from the first streams to many more, divided by their number. */
export async function bytesPerStream(
  contender: Contender,
  load: Omit<Load, 'url' | 'headers' | 'callers'> & { path: string },
): Promise<number> {
  const [few, more] = [100, 400];
  const open = (callers: number): Promise<LoadResult> =>
    runLoad({
      ...load,
      url: `${contender.origin}${load.path}`,
      headers: contender.headers,
      callers,
      callsMax: callers,
      callsPerSecond: 100,
    });
  const first = open(few);
  await sleep(4000);
  const before = await liveBytesOf(contender.pids);
  const second = open(more);
  await sleep(7000);
  const after = await liveBytesOf(contender.pids);
  await Promise.all([first, second]);
  return (after - before) / more;
}

/** Returns the medians of the figures of several windows. */
export function medians(windows: readonly Measured[]): Measured {
  const [first] = windows as readonly [Measured, ...Measured[]];
  const of = (figure: (each: Measured) => number): number => Number(median(windows.map(figure)).toFixed(3));
  const threads = new Set(windows.flatMap(({ cpuUsByThread }) => Object.keys(cpuUsByThread)));
  const cpuUsByThread = Object.fromEntries([...threads].map((name) => [name, of((each) => each.cpuUsByThread[name] ?? 0)]));
  const plain = Object.keys(first).filter((name): name is Exclude<keyof Measured, 'cpuUsByThread'> => name !== 'cpuUsByThread');
  return { ...Object.fromEntries(plain.map((name) => [name, of((each) => each[name])])), cpuUsByThread } as unknown as Measured;
}

/** Returns the median. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [lower, upper] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return ((lower ?? Number.NaN) + (upper ?? Number.NaN)) / 2;
}
