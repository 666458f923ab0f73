// Runs the benchmark: every contender under every load, in several rounds, and prints the medians as Markdown. See README.md.
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type Load, type LoadResult, percentile, runLoad } from './load.ts';
import { type Contender, cpuMicroseconds, startRelay, startTollgate, startUpstream, stopAll } from './processes.ts';

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, distributed: { type: 'boolean', default: false } },
});
const rounds = Number(options.rounds);
const streamTokens = 240;

type Pressure = Pick<Load, 'callers' | 'durationMs' | 'callsPerSecond'> & Partial<Pick<Load, 'callsMax'>>;

/** One line of a table: the contender, the request and the load. */
interface Case {
  readonly group: 'whole' | 'streamed' | 'paced' | 'one caller' | '32 callers';
  readonly name: string;
  readonly contender: Contender;
  readonly body: string;
  readonly pressure: Pressure;
}

interface Measured {
  readonly cpuUs: number;
  readonly load: LoadResult;
}

const warmUp = { durationMs: 3000, callsMax: 2000 };
const full = { callers: 32, durationMs: 1500 };
const streams = { callers: 16, durationMs: 1500 };
// Each caller begins only one stream, because 240 tokens at 5 ms last longer than this.
const pacedStreams = { callers: 32, durationMs: 1000 };
const oneCaller = { callers: 1, durationMs: 1000 };
const manyCallers = { callers: 32, durationMs: 1500, callsPerSecond: 300 };

const ask = (model: string, content: string, stream = false): string =>
  JSON.stringify({ model, stream, max_tokens: 512, messages: [{ role: 'user', content }] });
const hello = 'Say hello in a few words, tokens=8';
const story = `Tell a story, tokens=${streamTokens}`;
const paced = `${story} delay=5ms`;
const relayed = 'openai/gpt-4.1-mini';

async function cases(): Promise<Case[]> {
  const upstream = await startUpstream();
  const [node, koa, bytes, json, single] = await Promise.all([
    startRelay('node', upstream),
    startRelay('koa', upstream),
    startRelay('sse-bytes', upstream),
    startRelay('sse-json', upstream),
    startTollgate('single', upstream),
  ]);
  const all: Case[] = [
    { group: 'whole', name: 'Node relay', contender: node, body: ask(relayed, hello), pressure: full },
    { group: 'whole', name: 'Koa relay', contender: koa, body: ask(relayed, hello), pressure: full },
    { group: 'whole', name: 'Tollgate, sandbox/echo', contender: single, body: ask('sandbox/echo', hello), pressure: full },
    { group: 'whole', name: 'Tollgate, relayed', contender: single, body: ask(relayed, hello), pressure: full },
    { group: 'streamed', name: 'bytes relay', contender: bytes, body: ask(relayed, story, true), pressure: streams },
    { group: 'streamed', name: 'JSON relay', contender: json, body: ask(relayed, story, true), pressure: streams },
    { group: 'streamed', name: 'Tollgate, sandbox/story', contender: single, body: ask('sandbox/story', story, true), pressure: streams },
    { group: 'streamed', name: 'Tollgate, relayed', contender: single, body: ask(relayed, story, true), pressure: streams },
    { group: 'paced', name: 'bytes relay', contender: bytes, body: ask(relayed, paced, true), pressure: pacedStreams },
    { group: 'paced', name: 'JSON relay', contender: json, body: ask(relayed, paced, true), pressure: pacedStreams },
    { group: 'paced', name: 'Tollgate, relayed', contender: single, body: ask(relayed, paced, true), pressure: pacedStreams },
    ...(
      [
        ['one caller', oneCaller],
        ['32 callers', manyCallers],
      ] as const
    ).flatMap(([group, pressure]): Case[] => [
      { group, name: 'no relay', contender: upstream, body: ask(relayed, hello), pressure },
      { group, name: 'Koa relay', contender: koa, body: ask(relayed, hello), pressure },
      { group, name: 'Tollgate, sandbox/echo', contender: single, body: ask('sandbox/echo', hello), pressure },
      { group, name: 'Tollgate, relayed', contender: single, body: ask(relayed, hello), pressure },
    ]),
  ];
  if (options.distributed) {
    const distributed = await startTollgate('distributed', upstream);
    all.push(
      {
        group: 'whole',
        name: 'Tollgate distributed, sandbox/echo',
        contender: distributed,
        body: ask('sandbox/echo', hello),
        pressure: full,
      },
      {
        group: 'streamed',
        name: 'Tollgate distributed, relayed',
        contender: distributed,
        body: ask(relayed, story, true),
        pressure: streams,
      },
      {
        group: '32 callers',
        name: 'Tollgate distributed, relayed',
        contender: distributed,
        body: ask(relayed, hello),
        pressure: manyCallers,
      },
    );
  }
  return all;
}

async function measure({ contender, body, pressure }: Case): Promise<Measured> {
  const { url, headers, pids } = contender;
  const cpuBeforeUs = cpuMicroseconds(pids);
  const load = await runLoad({ url, headers, body, callsMax: 100_000, ...pressure });
  return { cpuUs: cpuMicroseconds(pids) - cpuBeforeUs, load };
}

function median(values: readonly number[]): number {
  return percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const lines = [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows];
  process.stdout.write(`${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n\n`);
}

function report(all: readonly Case[], results: ReadonlyMap<Case, readonly Measured[]>): void {
  const rowsOf = (group: Case['group']): { name: string; runs: readonly Measured[] }[] =>
    all.flatMap((each) => (each.group === group ? [{ name: each.name, runs: results.get(each)! }] : []));
  const costTable = (group: Case['group'], unit: 'call' | 'event', against: readonly string[]): void => {
    const rows = rowsOf(group);
    const units = ({ load }: Measured): number => (unit === 'call' ? load.calls : load.events);
    const costs = new Map(rows.map(({ name, runs }) => [name, runs.map((run) => run.cpuUs / units(run))]));
    const digits = unit === 'call' ? 0 : 1;
    table(
      [`${group}, CPU per ${unit}`, 'median µs', 'least–most', ...against.map((name) => `× ${name}`), `${unit}s/s`],
      rows.map(({ name, runs }) => {
        const cost = costs.get(name)!;
        const ratios = against.map((base) => (median(cost) / median(costs.get(base)!)).toFixed(2));
        const range = `${Math.min(...cost).toFixed(digits)}–${Math.max(...cost).toFixed(digits)}`;
        return [name, median(cost).toFixed(digits), range, ...ratios, Math.round(median(runs.map((run) => units(run) / run.load.seconds)))];
      }),
    );
  };
  const latencyTable = (group: Case['group']): void => {
    const rows = rowsOf(group).map(({ name, runs }) => {
      const at = (share: number): number => median(runs.map(({ load }) => percentile(load.latenciesMs, share)));
      return { name, p50: at(0.5), p99: at(0.99), cost: median(runs.map(({ cpuUs, load }) => cpuUs / load.calls)) };
    });
    const direct = rows[0]!;
    table(
      [`latency, ${group}`, 'p50 ms', 'p99 ms', 'added p50', 'added p99', 'CPU µs per call'],
      rows.map(({ name, p50, p99, cost }) => [
        name,
        p50.toFixed(2),
        p99.toFixed(2),
        (p50 - direct.p50).toFixed(2),
        (p99 - direct.p99).toFixed(2),
        cost.toFixed(0),
      ]),
    );
  };
  costTable('whole', 'call', ['Node relay', 'Koa relay']);
  costTable('streamed', 'event', ['bytes relay', 'JSON relay']);
  costTable('paced', 'event', ['bytes relay', 'JSON relay']);
  latencyTable('one caller');
  latencyTable('32 callers');
}

try {
  process.stdout.write(
    `${new Date().toISOString()}, Node ${process.version}, ${cpus().length} cores, load average ${loadavg()[0]!.toFixed(1)} before the run\n\n`,
  );
  const all = await cases();
  const results = new Map(all.map((each) => [each, [] as Measured[]]));
  // Warms up each case before it is measured.
  for (const each of all)
    if (each.group === 'whole' || each.group === 'streamed') await measure({ ...each, pressure: { ...each.pressure, ...warmUp } });
  for (let round = 0; round < rounds; round += 1) {
    for (const each of all) results.get(each)!.push(await measure(each));
  }
  report(all, results);
} finally {
  await stopAll();
}
