// Measures how many holds and settlements the ledger's lanes make durable, on SQLite and on MariaDB. See ../../README.md.
import { parseArgs } from 'node:util';
import { printCircumstances, printTable } from '../../table.ts';
import { type Books, type Engine, openBooks } from './books.ts';
import { callersOf, type Doer, type Measured, runCycles } from './cycles.ts';

const { values: options } = parseArgs({
  options: {
    engines: { type: 'string', default: 'sqlite,mysql' },
    accounts: { type: 'string', default: '1,10000' },
    callers: { type: 'string', default: '1,64,512' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    lanes: { type: 'string', default: '2' },
  },
});
const numbers = (text: string): number[] => text.split(',').map(Number);
const seconds = Number(options.seconds);
const rounds = Number(options.rounds);

/** Returns the median run by cycles per second. */
async function median(books: Books, doer: Doer, callers: number): Promise<Measured> {
  const runs: Measured[] = [];
  for (let round = 0; round < rounds; round += 1) runs.push(await runCycles(callersOf(books.customers, callers), doer, seconds));
  runs.sort((a, b) => a.cyclesPerSecond - b.cyclesPerSecond);
  return runs[Math.floor(runs.length / 2)]!;
}

async function measure(engine: Engine, accounts: number): Promise<(string | number)[][]> {
  const books = await openBooks(engine, accounts, Number(options.lanes));
  try {
    const doer: Doer = (operation) => books.lane.add(operation);
    // Warms up the code and the database pages before the measurement.
    await runCycles(callersOf(books.customers, 64), doer, 1.5);
    const rows: (string | number)[][] = [];
    for (const callers of numbers(options.callers)) {
      const { cyclesPerSecond, cpuUsPerCycle, hold, settle } = await median(books, doer, callers);
      const latencies = [hold.p50, hold.p99, settle.p50, settle.p99].map(ms);
      rows.push([engine, accounts, callers, Math.round(cyclesPerSecond), ...latencies, cpuUsPerCycle.toFixed(0)]);
    }
    await books.verify();
    return rows;
  } finally {
    await books.close();
  }
}

const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 0);

printCircumstances();
const rows: (string | number)[][] = [];
for (const engine of options.engines.split(',') as Engine[])
  for (const accounts of numbers(options.accounts)) rows.push(...(await measure(engine, accounts)));
printTable(
  ['database', 'accounts', 'callers', 'cycles/s', 'hold p50 ms', 'p99', 'settle p50 ms', 'p99', 'CPU of the ledger per cycle, µs'],
  rows,
);
process.exit(0);
