// Hold + settle cycles at the ledger's store: a transaction per operation compared with the lanes, on SQLite and on MariaDB. See README.md.
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { systemClock } from '#kit/clock.js';
import { type Books, connections, type Engine, openBooks } from './books.ts';
import { callersOf, type Doer, type Measured, runCycles } from './cycles.ts';

const { values: options } = parseArgs({
  options: {
    engines: { type: 'string', default: 'sqlite,mysql' },
    accounts: { type: 'string', default: '1,10000' },
    callers: { type: 'string', default: '1,64,512' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    lanes: { type: 'string', default: '2' },
    naive: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const numbers = (text: string): number[] => text.split(',').map(Number);
const seconds = Number(options.seconds);
const rounds = Number(options.rounds);

interface Line {
  readonly engine: Engine;
  readonly accounts: number;
  readonly callers: number;
  readonly naive: Measured | undefined;
  readonly batched: Measured;
}

/** Runs this many tasks at a time while the others wait, like a connection pool, but without a timeout. */
function atMost(many: number, doer: Doer): Doer {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (operation) => {
    if (running === many) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await doer(operation);
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/** Returns the median run by cycles per second. */
async function median(books: Books, doer: Doer, callers: number): Promise<Measured> {
  const runs: Measured[] = [];
  for (let round = 0; round < rounds; round += 1) runs.push(await runCycles(callersOf(books.customers, callers), doer, seconds));
  runs.sort((a, b) => a.cyclesPerSecond - b.cyclesPerSecond);
  return runs[Math.floor(runs.length / 2)]!;
}

async function measure(engine: Engine, accounts: number): Promise<Line[]> {
  const books = await openBooks(engine, accounts, Number(options.lanes));
  try {
    const { lane, store } = books;
    const batched: Doer = (operation) => lane.add(operation);
    const naive = atMost(connections, async (operation) => (await store.execute([operation], systemClock.nowMs()))[0]!);
    // Warms up the code and the database pages before the measurement.
    await runCycles(callersOf(books.customers, 64), batched, 1.5);
    const lines: Line[] = [];
    for (const callers of numbers(options.callers)) {
      const slow = options.naive ? await median(books, naive, callers) : undefined;
      lines.push({ engine, accounts, callers, naive: slow, batched: await median(books, batched, callers) });
    }
    await books.verify();
    return lines;
  } finally {
    await books.close();
  }
}

const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
const show = (measured: Measured | undefined): (string | number)[] =>
  measured === undefined
    ? ['', '', '']
    : [
        Math.round(measured.cyclesPerSecond),
        `${ms(measured.hold.p50)} / ${ms(measured.hold.p99)}`,
        `${ms(measured.settle.p50)} / ${ms(measured.settle.p99)}`,
      ];

function report(lines: readonly Line[]): void {
  const head = [
    'database',
    'accounts',
    'callers',
    'naive, cycles/s',
    'hold p50 / p99 ms',
    'settle p50 / p99 ms',
    'lanes, cycles/s',
    'hold p50 / p99 ms',
    'settle p50 / p99 ms',
    '× naive',
    'CPU µs per cycle',
  ];
  const rows = lines.map(({ engine, accounts, callers, naive, batched }) => [
    engine,
    accounts,
    callers,
    ...show(naive),
    ...show(batched),
    naive === undefined ? '' : (batched.cyclesPerSecond / naive.cyclesPerSecond).toFixed(1),
    batched.cpuUsPerCycle.toFixed(0),
  ]);
  const table = [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows];
  process.stdout.write(`${table.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`);
}

process.stdout.write(
  `${new Date().toISOString()}, Node ${process.version}, ${cpus().length} cores, load average ${loadavg()[0]!.toFixed(1)} before the run\n\n`,
);
const lines: Line[] = [];
for (const engine of options.engines.split(',') as Engine[]) {
  for (const accounts of numbers(options.accounts)) lines.push(...(await measure(engine, accounts)));
}
report(lines);
process.exit(0);
