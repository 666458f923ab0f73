// The metrics of the runtime and the machine: those of the process, and those that each of its threads has.
import { readdir, readFile, statfs } from 'node:fs/promises';
import { X509Certificate } from 'node:crypto';
import { constants, monitorEventLoopDelay, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { Logger } from '../log.js';
import { thisProcess } from '../process/process-info.js';
import { counter, gauge, histogram, observe, type Reading } from './metrics.js';

const by = 'process';
const thread = 'main, or the kind and number of another thread';

const buildInfo = gauge(
  {
    name: 'tollgate.build.info',
    unit: '',
    description: 'Always 1; its labels show the running versions.',
    by,
    labels: { version: 'The version of Tollgate.', node_version: 'The version of Node.' },
  },
  'max',
);
const cpuTime = counter({
  name: 'process.cpu.time',
  unit: 's',
  description: 'CPU time of all threads.',
  by,
  labels: { 'cpu.mode': 'user or system' },
});
const memory = gauge({ name: 'process.memory.usage', unit: 'By', description: 'Resident memory.', by });
const uptime = gauge({ name: 'process.uptime', unit: 's', description: 'Time since the start of the process.', by }, 'max');
const openFiles = gauge({ name: 'process.open_file_descriptor.count', unit: '{count}', description: 'Open files and sockets.', by });
const systemThreads = gauge({
  name: 'process.thread.count',
  unit: '{thread}',
  description: 'Threads of the operating system, including those of V8 and libuv.',
  by,
});
const loopUtilization = gauge({
  name: 'nodejs.eventloop.utilization',
  unit: '1',
  description: 'Share of the time since the previous collection in which the event loop was busy, from 0 to 1.',
  by,
  labels: { thread },
});
const loopDelay = gauge({
  name: 'nodejs.eventloop.delay.p99',
  unit: 's',
  description: 'The 99th percentile of how late a timer ran that fires ten times per second, since the previous collection.',
  by,
  labels: { thread },
});
const loopDelayMax = gauge({
  name: 'nodejs.eventloop.delay.max',
  unit: 's',
  description: 'The longest delay of a timer that fires ten times per second, since the previous collection.',
  by,
  labels: { thread },
});
const heapUsed = gauge({ name: 'v8js.memory.heap.used', unit: 'By', description: 'Used memory of the heap.', by, labels: { thread } });
const heapLimit = gauge({
  name: 'v8js.memory.heap.limit',
  unit: 'By',
  description: 'Memory that the heap may use; the thread ends when it needs more.',
  by,
  labels: { thread },
});
const collections = histogram(
  {
    name: 'v8js.gc.duration',
    unit: 's',
    description: 'Duration of garbage collections.',
    by,
    labels: { 'v8js.gc.type': 'minor, major, incremental or weakcb', thread },
  },
  [0.01, 0.1, 1, 10],
);
const certificateLeft = gauge(
  {
    name: 'tollgate.certificate.remaining',
    unit: 's',
    description: 'Time until a certificate of this process expires; negative afterwards.',
    by,
    labels: { file: 'certificate or authority' },
  },
  'min',
);
const diskLabels = { folder: 'data, in the single process, or spool' };
const diskFree = gauge(
  {
    name: 'tollgate.disk.free',
    unit: 'By',
    description: 'Free space for this process on the file system of a folder.',
    by: 'gateway',
    labels: diskLabels,
  },
  'min',
);
const diskSize = gauge(
  { name: 'tollgate.disk.size', unit: 'By', description: 'Size of the file system of a folder.', by: 'gateway', labels: diskLabels },
  'max',
);

const gcTypes: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};
/** Each sample wakes the event loop: at 20 ms, sampling took half of the CPU time of an idle process. */
const delaySampleMs = 100;

/** Measures the runtime of this thread, called `name`, and in the main thread that of the process. Returns a function that stops this. */
export function observeRuntime(name: string, log: Pick<Logger, 'debug'>): () => void {
  const labels = { thread: name };
  const delays = monitorEventLoopDelay({ resolution: delaySampleMs });
  delays.enable();
  const gc = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) collections.of({ 'v8js.gc.type': typeOf(entry), thread: name }).record(entry.duration / 1000);
  });
  gc.observe({ entryTypes: ['gc'] });
  let utilization = performance.eventLoopUtilization();
  const ofThread = (): Reading[] => {
    const since = performance.eventLoopUtilization(utilization);
    utilization = performance.eventLoopUtilization();
    // The histogram has the times between samples.
    const late = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - delaySampleMs / 1000);
    const [p99, max] = [late(delays.percentile(99)), late(delays.count === 0 ? 0 : delays.max)];
    delays.reset();
    const heap = getHeapStatistics();
    return [
      loopUtilization.at(since.utilization, labels),
      loopDelay.at(p99, labels),
      loopDelayMax.at(max, labels),
      heapUsed.at(heap.used_heap_size, labels),
      heapLimit.at(heap.heap_size_limit, labels),
    ];
  };
  const endThread = observe(ofThread, log);
  const endProcess = name === 'main' ? observe(ofProcess, log) : () => {};
  return () => {
    endThread();
    endProcess();
    delays.disable();
    gc.disconnect();
  };
}

function typeOf(entry: PerformanceEntry): string {
  return gcTypes[(entry as PerformanceEntry & { detail: { kind: number } }).detail.kind] ?? 'unknown';
}

async function ofProcess(): Promise<Reading[]> {
  const { user, system } = process.cpuUsage();
  return [
    buildInfo.at(1, { version: thisProcess.version, node_version: thisProcess.nodeVersion }),
    cpuTime.at(user / 1e6, { 'cpu.mode': 'user' }),
    cpuTime.at(system / 1e6, { 'cpu.mode': 'system' }),
    memory.at(process.memoryUsage.rss()),
    uptime.at(process.uptime()),
    ...(await ofSystem()),
  ];
}

/** Returns what only Linux reports. */
async function ofSystem(): Promise<Reading[]> {
  if (process.platform !== 'linux') return [];
  const [files, status] = await Promise.all([readdir('/proc/self/fd'), readFile('/proc/self/status', 'utf8')]);
  return [openFiles.at(files.length), systemThreads.at(Number(/^Threads:\s*(\d+)/m.exec(status)?.[1] ?? 0))];
}

/** Reports the disk space for these folders. Returns a function that stops this. */
export function observeDisks(folders: Readonly<Record<string, string>>, log: Pick<Logger, 'debug'>): () => void {
  return observe(async () => {
    const read = Object.entries(folders).map(async ([folder, path]) => {
      const { bavail, blocks, bsize } = await statfs(path);
      return [diskFree.at(bavail * bsize, { folder }), diskSize.at(blocks * bsize, { folder })];
    });
    return (await Promise.all(read)).flat();
  }, log);
}

/** Reports how long these certificate files are valid. They are read again each time, because they may be renewed. Returns a function that stops this. */
export function observeCertificates(files: Readonly<Record<string, string>>, log: Pick<Logger, 'debug'>): () => void {
  return observe(async () => {
    const read = Object.entries(files).map(async ([file, path]) => {
      const { validTo } = new X509Certificate(await readFile(path));
      return certificateLeft.at((Date.parse(validTo) - Date.now()) / 1000, { file });
    });
    return Promise.all(read);
  }, log);
}
