// Measures the cost of a call through Tollgate and through relays, and prints it alongside the performance budgets. See README.md.
import { closeSync, fdatasyncSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Format, type LoadCase, type LoadName, loads, openStreams, stream, streamTokens, wholeCall } from './cases.ts';
import { bytesPerStream, idleOf, leadInMs, type Measured, measure, median, medians } from './measure.ts';
import { notes as peerNotes, startPeers } from './peers/peers.ts';
import { type Contender, cores, newFolder, pin, startRelay, startTollgate, startUpstream, stopAll } from './processes.ts';
import { type AtRest, printAtRest, printBudgets, printLoads, printPaths, printThreads, raw, Results } from './report.ts';
import { print, printCircumstances } from './table.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    // Shortens or lengthens every window.
    scale: { type: 'string', default: '0.5' },
    // A regular expression that selects loads by name: whole, streamed, lone, paced, large, paths, rest.
    only: { type: 'string', default: '' },
    distributed: { type: 'boolean', default: true },
    // Compares with other gateways in place of the variants of Tollgate.
    peers: { type: 'boolean', default: false },
    // A file for the medians, in JSON.
    out: { type: 'string', default: '' },
  },
  allowNegative: true,
});
const rounds = Number(options.rounds);
const scale = Number(options.scale);
const only = new RegExp(options.only);

const names = {
  koa: 'Koa + undici relay',
  json: 'JSON relay',
  single: 'Tollgate, one core',
  telemetry: 'Tollgate, one core, telemetry export',
  thread: 'Tollgate, one core, a gateway thread',
  threads: 'Tollgate, two cores, two gateway threads',
  distributed: 'Tollgate, distributed, one core',
};
const threadsSetting = 'TOLLGATE_GATEWAY_THREADS';
/** Only one translated and one untranslated path of the responses format, because it shares its code with the others. */
const paths: { caller: Format; upstream: Format }[] = [
  ...(['chat', 'messages'] as const).flatMap((upstream) => (['chat', 'messages'] as const).map((caller) => ({ caller, upstream }))),
  { caller: 'responses', upstream: 'responses' },
  { caller: 'responses', upstream: 'chat' },
];

/** Which loads a contender gets. */
interface Entry {
  readonly contender: Contender;
  readonly loads: readonly LoadName[];
  /** Set if the memory of open streams is measured. */
  readonly hasMemory?: boolean;
}

async function startOwn(upstream: Contender): Promise<Entry[]> {
  const all = Object.keys(loads) as LoadName[];
  const entries: Entry[] = [
    { contender: await startTollgate(upstream, { name: names.single, hasResponses: true }), loads: all, hasMemory: true },
    {
      contender: await startTollgate(upstream, {
        name: names.telemetry,
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: upstream.origin },
      }),
      loads: ['whole', 'streamed', 'lone', 'large'],
    },
  ];
  const thread = await startTollgate(upstream, { name: names.thread, env: { [threadsSetting]: '1' } });
  const threads = await startTollgate(upstream, { name: names.threads, cores: cores.two, env: { [threadsSetting]: '2' } });
  entries.push({ contender: thread, loads: ['whole', 'streamed', 'lone'] }, { contender: threads, loads: ['whole'] });
  if (options.distributed) {
    const contender = await startTollgate(upstream, { name: names.distributed, mode: 'distributed' });
    entries.push({ contender, loads: ['whole', 'streamed', 'lone', 'paced'], hasMemory: true });
  }
  return entries;
}

async function startAll(upstream: Contender): Promise<Entry[]> {
  const all = Object.keys(loads) as LoadName[];
  const baselines: Entry[] = [
    { contender: await startRelay(raw, 'raw', upstream), loads: all, hasMemory: true },
    { contender: await startRelay(names.koa, 'koa', upstream), loads: ['whole', 'streamed', 'lone', 'large'] },
  ];
  if (!options.peers) return [...baselines, ...(await startOwn(upstream))];
  const tollgate = await startTollgate(upstream, { name: names.single });
  return [
    ...baselines,
    ...[tollgate, ...(await startPeers(upstream))].map((contender) => ({
      contender,
      loads: all,
      hasMemory: contender.isForeign !== true,
    })),
  ];
}

/** Returns how long a write of one page and its sync take, which bounds what durable books can do on this disk. */
function syncMs(): number {
  const file = openSync(join(newFolder('disk'), 'page'), 'w');
  const page = Buffer.alloc(4096, 1);
  const times = Array.from({ length: 200 }, () => {
    const start = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    return performance.now() - start;
  });
  closeSync(file);
  return median(times);
}

/** A busy machine fails calls: a key is not accepted when its updates are a second late, for example. Figures of failed calls are meaningless. */
const failuresMax = 5;

const scaled = (load: LoadCase): LoadCase => ({ ...load, durationMs: load.durationMs * scale });

const warmUpCalls = 25_000;

type Window = (contender: Contender, load: LoadCase, idleUs: number, leadMs?: number) => Promise<{ measured: Promise<Measured> }>;

async function measurePaths(window: Window, results: Results, byName: ReadonlyMap<string, Contender>, relay: Contender): Promise<void> {
  const without = (contender: Contender): Contender => ({ ...contender, tailMs: 0 });
  const half = (load: LoadCase): LoadCase => scaled({ ...load, durationMs: load.durationMs * 0.6 });
  for (const { caller, upstream } of paths) {
    const [own, single] = [`${caller} ${upstream}`, byName.get(names.single)!];
    const contenders = caller === upstream ? [byName.get(raw)!, relay, single] : [single];
    for (const contender of contenders) {
      let leadMs: number = leadInMs.first;
      const add = async (name: string, load: LoadCase): Promise<void> => {
        const { measured } = await window(without(contender), half(load), 0, leadMs);
        results.add(`${own} ${name}`, contender.name, await measured);
        leadMs = leadInMs.next;
      };
      if (contender !== relay) await add('whole', wholeCall(caller, upstream));
      for (const [name, tokens] of Object.entries(streamTokens)) await add(name, stream(caller, upstream, tokens));
    }
  }
  await sleep(byName.get(names.single)!.tailMs);
}

/**
 * V8 compiles the code of a call again and again, most of it during the first 15,000 calls. Contenders get a number of calls rather than a time, since
 * a slow one needs more time for them.
 */
async function warmUp(window: Window, entries: readonly Entry[], relay: Contender | undefined): Promise<void> {
  for (const { contender } of entries) {
    await window({ ...contender, tailMs: 0 }, { ...loads.whole, durationMs: 60_000, callsMax: warmUpCalls }, 0);
    await window({ ...contender, tailMs: 0 }, { ...loads.streamed, durationMs: 10_000, callsMax: 2000 }, 0);
  }
  if (relay !== undefined) await window(relay, { ...loads.streamed, durationMs: 1000 * scale }, 0);
}

async function measureMemory(entries: readonly Entry[]): Promise<Map<Contender, number>> {
  const memory = new Map<Contender, number>();
  for (const { contender, hasMemory } of entries)
    if (hasMemory === true && only.test('rest')) memory.set(contender, await bytesPerStream(contender, openStreams));
  return memory;
}

/** Between the two times at which idle contenders are measured. */
const idlePauseMs = 25_000;

/**
 * Returns the least of four windows at two times. Collectors and roll-ups finish what the loads before left, and the reconcile job, which once a minute checks
 * all recent calls, is in progress at most at one of the two times.
 */
async function measureIdle(contenders: readonly Contender[]): Promise<Map<Contender, number>> {
  const windows: ReadonlyMap<Contender, number>[] = [];
  for (const pauseMs of [6000, idlePauseMs]) {
    await sleep(pauseMs);
    windows.push(await idleOf(contenders, 6 * scale), await idleOf(contenders, 6 * scale));
  }
  return new Map(contenders.map((each) => [each, Math.min(...windows.map((window) => window.get(each)!))]));
}

try {
  // The load is in this process; what it starts moves to its own cores.
  pin(process.pid, cores.load);
  const syncUs = syncMs() * 1000;
  printCircumstances(`; a synced write of 4 kB takes ${(syncUs / 1000).toFixed(2)} ms`);
  const upstream = await startUpstream();
  let repeats = 0;
  const window: Window = async (contender, load, idleUs, leadMs = leadInMs.first) => {
    for (let failures = 0; ; failures += 1) {
      try {
        return await measure(contender, load, { idleUs, leadInMs: leadMs }, upstream);
      } catch (error) {
        if (failures === failuresMax) throw error;
        repeats += 1;
        process.stderr.write(`${contender.name}, ${load.title}: ${String(error)} Repeating.\n`);
        await sleep(5000);
      }
    }
  };
  const entries = await startAll(upstream);
  const withPaths = !options.peers && only.test('paths');
  const relay = withPaths ? await startRelay(names.json, 'json', upstream) : undefined;
  const byName = new Map(entries.map(({ contender }) => [contender.name, contender]));
  await warmUp(window, entries, relay);
  const contenders = entries.map(({ contender }) => contender);
  const idle = await measureIdle(contenders);
  const results = new Results();
  const averages: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, load] of Object.entries(loads)) {
      if (!only.test(name)) continue;
      const tails: Promise<void>[] = [];
      for (const { contender, loads: own } of entries) {
        if (!own.includes(name as LoadName)) continue;
        const { measured } = await window(contender, scaled(load), idle.get(contender)!);
        tails.push(measured.then((each) => results.add(name, contender.name, each)));
      }
      // The next load begins with the relay that all ratios refer to, alone on its core.
      await Promise.all(tails);
    }
    if (relay !== undefined) await measurePaths(window, results, byName, relay);
    averages.push(loadavg()[0]!);
  }
  // Last, because V8 discards compiled code when a process is asked to collect its garbage.
  const memory = await measureMemory(entries);
  const atRest = new Map<string, AtRest>(
    entries.map(({ contender }) => [contender.name, { idleUsPerSecond: idle.get(contender), bytesPerStream: memory.get(contender) }]),
  );
  const shown = [...byName.keys()];
  printLoads(results, shown);
  printThreads(results, shown);
  if (relay !== undefined) printPaths(results, paths, names.single, names.json);
  printAtRest(atRest);
  if (!options.peers) printBudgets(results, atRest, names);
  for (const note of options.peers ? peerNotes : []) print(`- ${note}`);
  print(
    `Load average after each round, this benchmark included: ${averages.map((each) => each.toFixed(1)).join(', ')}. Windows repeated because of a failed call: ${repeats}.`,
  );
  if (options.out !== '') {
    const of = (load: string): object =>
      Object.fromEntries(shown.filter((each) => results.of(load, each).length > 0).map((each) => [each, medians(results.of(load, each))]));
    const windows = Object.fromEntries(Object.keys(loads).map((name) => [name, of(name)]));
    writeFileSync(options.out, `${JSON.stringify({ syncUs, windows, atRest: Object.fromEntries(atRest) }, null, 2)}\n`);
  }
} finally {
  await stopAll();
}
