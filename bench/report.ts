// Prints the results of the call benchmark as tables: medians over the rounds, and ratios to the raw relay of the same round.
import type { Format, LoadName } from './cases.ts';
import { loads, streamTokens } from './cases.ts';
import { type CpuUs, type Measured, median } from './measure.ts';
import { print, printTable } from './table.ts';

/** All windows of the run by load and contender, one per round. */
export class Results {
  readonly windows = new Map<string, Measured[]>();

  add(load: string, contender: string, measured: Measured): void {
    const key = `${load}\n${contender}`;
    this.windows.set(key, [...(this.windows.get(key) ?? []), measured]);
  }

  of(load: string, contender: string): readonly Measured[] {
    return this.windows.get(`${load}\n${contender}`) ?? [];
  }

  median(load: string, contender: string, figure: (measured: Measured) => number): number {
    return median(this.of(load, contender).map(figure));
  }

  /** Returns the median of the ratios within each round, or undefined if one of the two was not measured. */
  ratio(load: string, contender: string, base: string, figure: (measured: Measured) => number): number | undefined {
    const bases = this.of(load, base);
    const ratios = this.of(load, contender).flatMap((each, round) =>
      bases[round] === undefined ? [] : [figure(each) / figure(bases[round])],
    );
    return ratios.length === 0 ? undefined : median(ratios);
  }
}

/** The name of the contender that every ratio refers to. */
export const raw = 'raw Node relay';

const times = (ratio: number | undefined): string => (ratio === undefined ? '' : `${ratio.toFixed(2)} ×`);
const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
const kB = (bytes: number): string => (bytes / 1000).toFixed(1);
const cpu = (each: Measured): number => each.cpuUs;

/** Prints a table per load, with a row per contender. */
export function printLoads(results: Results, contenders: readonly string[]): void {
  for (const [name, { title }] of Object.entries(loads)) {
    const rows = contenders.flatMap((contender) => {
      const runs = results.of(name, contender);
      if (runs.length === 0) return [];
      const costs = runs.map(cpu);
      const middle = (figure: (measured: Measured) => number): number => results.median(name, contender, figure);
      return [
        [
          contender,
          middle(cpu).toFixed(0),
          `${Math.min(...costs).toFixed(0)}–${Math.max(...costs).toFixed(0)}`,
          times(results.ratio(name, contender, raw, cpu)),
          middle((each) => each.callsPerSecond).toFixed(0),
          ms(middle((each) => each.p50Ms)),
          ms(middle((each) => each.p99Ms)),
          kB(middle((each) => each.writtenBytes)),
        ],
      ];
    });
    if (rows.length === 0) continue;
    printTable([title, 'CPU per call, µs', 'least–most', '× raw', 'calls/s', 'p50 ms', 'p99 ms', 'kB written per call'], rows);
  }
}

/** Prints where the CPU of a whole call goes. Shares below one percent are summed up. */
export function printThreads(results: Results, contenders: readonly string[]): void {
  const rows = contenders.flatMap((contender) => {
    const runs = results.of('whole', contender);
    if (runs.length === 0) return [];
    const names = new Set(runs.flatMap(({ cpuUsByThread }) => Object.keys(cpuUsByThread)));
    const used = [...names].map(
      (name) => [name, median(runs.map(({ cpuUsByThread }: { cpuUsByThread: CpuUs }) => cpuUsByThread[name] ?? 0))] as const,
    );
    const total = used.reduce((sum, [, us]) => sum + us, 0);
    const shown = used.filter(([, us]) => us >= total / 100).toSorted((a, b) => b[1] - a[1]);
    const rest = total - shown.reduce((sum, [, us]) => sum + us, 0);
    const database = results.median('whole', contender, (each) => each.databaseCpuUs);
    return [
      ...shown.map(([name, us]) => [contender, name, us.toFixed(0)]),
      [contender, 'other threads', rest.toFixed(0)],
      ...(database > 0 ? [[contender, 'database server (not counted)', database.toFixed(0)]] : []),
    ];
  });
  if (rows.length > 0) printTable(['whole call, 32 callers', 'process and thread', 'CPU per call, µs'], rows);
}

/** Returns the CPU of one event in each round: the difference of two streams of different lengths. */
function eventCosts(results: Results, prefix: string, contender: string): number[] {
  const short = results.of(`${prefix} short`, contender);
  return results
    .of(`${prefix} long`, contender)
    .map((long, round) => (long.cpuUs - short[round]!.cpuUs) / (streamTokens.long - streamTokens.short));
}

/** Prints the paths between formats. Roll-ups, which all paths have in common, are left out of these windows. */
export function printPaths(results: Results, paths: readonly { caller: Format; upstream: Format }[], tollgate: string, json: string): void {
  const rows = paths.flatMap(({ caller, upstream }) => {
    const own = `${caller} ${upstream}`;
    if (results.of(`${own} long`, tollgate).length === 0) return [];
    const relay = `${upstream} ${upstream}`;
    const ratioOf = (load: string): string => {
      const bases = results.of(`${relay} ${load}`, raw);
      return times(median(results.of(`${own} ${load}`, tollgate).map((each, round) => each.cpuUs / bases[round]!.cpuUs)));
    };
    const events = eventCosts(results, own, tollgate);
    const jsonEvents = eventCosts(results, relay, json);
    return [
      [
        `${caller} → ${upstream}`,
        results.median(`${own} whole`, tollgate, cpu).toFixed(0),
        ratioOf('whole'),
        results.median(`${own} short`, tollgate, cpu).toFixed(0),
        ratioOf('short'),
        ms(results.median(`${own} short`, tollgate, (each) => each.firstTokenMs)),
        median(events).toFixed(1),
        times(median(events.map((each, round) => each / jsonEvents[round]!))),
      ],
    ];
  });
  if (rows.length === 0) return;
  const head = [
    'caller → upstream',
    'whole call, µs',
    '× raw',
    'stream of 200, µs',
    '× raw',
    'first token p50 ms',
    'event, µs',
    '× JSON relay',
  ];
  printTable(head, rows);
}

/** The measurements without calls. */
export interface AtRest {
  readonly idleUsPerSecond: number | undefined;
  readonly bytesPerStream: number | undefined;
}

/** Prints idle CPU and memory. */
export function printAtRest(figures: ReadonlyMap<string, AtRest>): void {
  const rows = [...figures].map(([contender, { idleUsPerSecond, bytesPerStream }]) => [
    contender,
    idleUsPerSecond === undefined ? '' : (idleUsPerSecond / 1000).toFixed(1),
    bytesPerStream === undefined ? '' : (bytesPerStream / 1000).toFixed(0),
  ]);
  printTable(['without calls', 'idle CPU, ms per second', 'memory per open stream, kB'], rows);
}

/** The contenders of the budgets. */
export interface Names {
  readonly single: string;
  readonly telemetry: string;
  readonly threads: string;
  readonly distributed: string;
  readonly json: string;
}

/** Prints the performance budgets alongside what was measured. What was not measured stays empty. */
export function printBudgets(results: Results, atRest: ReadonlyMap<string, AtRest>, names: Names): void {
  const { single, telemetry, threads, distributed, json } = names;
  const both = (value: (contender: string) => string): string[] => [value(single), value(telemetry)];
  const ofRaw = (load: LoadName, figure: (measured: Measured) => number) => (contender: string) =>
    times(results.ratio(load, contender, raw, figure));
  const jsonEvents = eventCosts(results, 'chat chat', json);
  const events = eventCosts(results, 'chat chat', single);
  const idle = (contender: string): string => {
    const us = atRest.get(contender)?.idleUsPerSecond;
    return us === undefined ? '' : `${(us / 1000).toFixed(1)} ms/s`;
  };
  const bytes = atRest.get(single)?.bytesPerStream;
  print('The budgets of the design, and what was measured:\n');
  printTable(
    ['', 'budget', 'measured', 'with telemetry export'],
    [
      ['whole call, 32 callers: CPU', '≤ 2.5 × raw (goal 2 ×)', ...both(ofRaw('whole', cpu))],
      ['stream of 200 events: CPU', '≤ 2 × raw', ...both(ofRaw('streamed', cpu))],
      [
        'per relayed event: CPU',
        '≤ 1.2 × JSON relay',
        events.length === 0 ? '' : times(median(events.map((each, round) => each / jsonEvents[round]!))),
        '',
      ],
      ['lone call: CPU', '≤ 3.5 × raw', ...both(ofRaw('lone', cpu))],
      ['lone call: p50', '≤ 2 × raw', ...both(ofRaw('lone', (each) => each.p50Ms))],
      ['100 kB prompt: CPU', '≤ 2.5 × raw', ...both(ofRaw('large', cpu))],
      [
        'two cores compared with one: calls/s',
        '≥ 1.7 ×',
        times(results.ratio('whole', threads, single, (each) => each.callsPerSecond)),
        '',
      ],
      ['distributed, all processes, compared with single: CPU', '≤ 2 ×', times(results.ratio('whole', distributed, single, cpu)), ''],
      ['idle CPU, single mode', '≤ 2 ms/s', ...both(idle)],
      ['open stream', '≤ 40 kB', bytes === undefined ? '' : `${(bytes / 1000).toFixed(0)} kB`, ''],
    ],
  );
}
