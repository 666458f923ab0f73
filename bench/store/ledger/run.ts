// Measures how many holds and settlements the ledger's lanes make durable, on SQLite and on MariaDB. See ../../README.md.
import { parseArgs } from 'node:util';
import { printCircumstances, printTable } from '../../table.ts';
import { type Books, type Engine, openBooks } from './books.ts';
import { Budget, BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import { newId } from '#kit/id.js';
import { type BudgetsOf, callersOf, type Doer, type Measured, runCycles } from './cycles.ts';

const { values: options } = parseArgs({
  options: {
    engines: { type: 'string', default: 'sqlite,mysql' },
    accounts: { type: 'string', default: '1,10000' },
    callers: { type: 'string', default: '1,64,512' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    lanes: { type: 'string', default: '2' },
    budgets: { type: 'string', default: '0,5' },
  },
});
const numbers = (text: string): number[] => text.split(',').map(Number);
const seconds = Number(options.seconds);
const rounds = Number(options.rounds);

/** Returns a function that gives each account this many budgets, which are never spent. */
function budgetsOf(count: number): BudgetsOf {
  const known = new Map<string, Budget[]>();
  return ({ accountId }) => {
    let budgets = known.get(accountId);
    if (budgets === undefined) {
      const fields = { scope: BudgetScope.BUDGET_SCOPE_ACCOUNT, scopeId: accountId, period: BudgetPeriod.BUDGET_PERIOD_MONTH };
      budgets = Array.from({ length: count }, () =>
        Budget.fromPartial({ ...fields, id: newId('bud'), limitNanoUsd: 10n ** 15n, alertPercents: [50, 80, 100], version: 1n }),
      );
      known.set(accountId, budgets);
    }
    return budgets;
  };
}

/** Returns the median run by cycles per second for each number of budgets. Rounds alternate between them. */
async function medians(books: Books, doer: Doer, callers: number, paths: readonly BudgetsOf[]): Promise<Measured[]> {
  const runs = paths.map((): Measured[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, path] of paths.entries())
      runs[index]!.push(await runCycles(callersOf(books.customers, callers), doer, seconds, path));
  return runs.map((all) => all.sort((a, b) => a.cyclesPerSecond - b.cyclesPerSecond)[Math.floor(all.length / 2)]!);
}

async function measure(engine: Engine, accounts: number): Promise<(string | number)[][]> {
  const books = await openBooks(engine, accounts, Number(options.lanes));
  try {
    const doer: Doer = (operation) => books.lane.add(operation);
    // Warms up the code and the database pages before the measurement.
    const counts = numbers(options.budgets);
    const paths = counts.map(budgetsOf);
    for (const path of paths) await runCycles(callersOf(books.customers, 64), doer, 1.5, path);
    const rows: (string | number)[][] = [];
    for (const callers of numbers(options.callers)) {
      for (const [index, { cyclesPerSecond, cpuUsPerCycle, hold, settle }] of (await medians(books, doer, callers, paths)).entries()) {
        const latencies = [hold.p50, hold.p99, settle.p50, settle.p99].map(ms);
        rows.push([engine, accounts, counts[index]!, callers, Math.round(cyclesPerSecond), ...latencies, cpuUsPerCycle.toFixed(0)]);
      }
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
  [
    'database',
    'accounts',
    'budgets',
    'callers',
    'cycles/s',
    'hold p50 ms',
    'p99',
    'settle p50 ms',
    'p99',
    'CPU of the ledger per cycle, µs',
  ],
  rows,
);
process.exit(0);
