// Compares the model with measured loads, then computes what machines and fleets of other sizes can serve.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { print, printTable } from '../table.ts';
import { type Arrivals, type Outcome, simulate } from './model.ts';
import { apart, callCosts, distributedMode, fleetFor, type Figures, processCosts, singleMode, type SinglePlace } from './scenarios.ts';

const { values: options } = parseArgs({
  options: {
    // What `node bench/run.ts --out FILE` wrote.
    figures: { type: 'string' },
    seed: { type: 'string', default: '1' },
    accounts: { type: 'string', default: '1000000' },
    rates: { type: 'string', default: '1000,10000,100000' },
    // Time that an upstream takes for a call.
    vendorMs: { type: 'string', default: '1000' },
  },
});
const seed = Number(options.seed);
if (options.figures === undefined)
  throw new Error('Pass --figures FILE with the figures of a measured run, which `node bench/run.ts --out FILE` writes.');
const figures = JSON.parse(readFileSync(options.figures, 'utf8')) as Figures;
const names = {
  one: 'Tollgate, one core',
  thread: 'Tollgate, one core, a gateway thread',
  two: 'Tollgate, two cores, two gateway threads',
  distributed: 'Tollgate, distributed, one core',
};
const shareOfCores = 0.6;
const coresPerDatabase = 8;

const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Compares the model with measured loads, some of which it was not calibrated with. */
function check(): void {
  const rows: string[][] = [];
  const compare = (title: string, simulated: Outcome, load: string, contender: string): void => {
    const measured = figures.windows[load]?.[contender];
    if (measured === undefined) return;
    const cells = (['callsPerSecond', 'p50Ms', 'p99Ms'] as const).flatMap((figure) => {
      const error = simulated[figure] / measured[figure] - 1;
      return [`${ms(measured[figure])} / ${ms(simulated[figure])}`, `${error > 0 ? '+' : ''}${percent(error)}`];
    });
    rows.push([title, ...cells]);
  };
  const shared = { machines: [{ name: 'all', cores: 2 }], contender: 'all', load: 'all' };
  const many: Arrivals = { kind: 'closed', callers: 32 };
  const every = (callsPerSecond: number): Arrivals => ({ kind: 'even', callsPerSecond });
  const run = (contender: string, place: SinglePlace, arrivals: Arrivals): Outcome =>
    simulate({ seed, ...singleMode(callCosts(figures, contender), place), arrivals, seconds: 20 });
  const onOne = { ...apart, gatewayThreads: 1 };
  compare('one core, 32 callers', run(names.one, onOne, many), 'whole', names.one);
  compare('one core, 100 calls/s', run(names.one, onOne, every(100)), 'paced', names.one);
  compare('one core, 20 calls/s', run(names.one, onOne, every(20)), 'lone', names.one);
  compare('one core, a gateway thread, 32 callers', run(names.thread, onOne, many), 'whole', names.thread);
  compare('one core, a gateway thread, 20 calls/s', run(names.thread, onOne, every(20)), 'lone', names.thread);
  // With the costs of one core: nothing of the two cores' own measurement is used.
  compare('two cores shared with the load, 32 callers', run(names.thread, { ...shared, gatewayThreads: 2 }, many), 'whole', names.two);
  print('Measured / simulated, and the error:\n');
  printTable(['whole calls', 'calls/s', '', 'p50 ms', '', 'p99 ms', ''], rows);
}

function machines(): void {
  const costs = callCosts(figures, names.thread);
  const rows = [2, 4, 8, 16].map((cores) => {
    // The load has a machine of its own.
    const machinesOf = [
      { name: 'contender', cores },
      { name: 'load', cores: 1000 },
    ];
    // Calls continue, so that the work after the answers runs concurrently with them.
    const model = singleMode(
      { ...costs, booksUs: (costs.booksUs ?? 0) + costs.afterUs, loadUs: 1 },
      { ...apart, machines: machinesOf, gatewayThreads: Math.max(1, cores - 1) },
    );
    const most = simulate({ seed, ...model, arrivals: { kind: 'closed', callers: 32 * cores }, seconds: 10 });
    const served = Math.floor((most.callsPerSecond * 0.7) / 10) * 10;
    const steady = simulate({ seed, ...model, arrivals: { kind: 'random', callsPerSecond: served }, seconds: 10 });
    const busiest = Object.entries(most.busy).toSorted((a, b) => b[1] - a[1])[0]!;
    return [
      String(cores),
      most.callsPerSecond.toFixed(0),
      String(served),
      ms(steady.p50Ms),
      ms(steady.p99Ms),
      percent(most.cores['contender']!),
      `${busiest[0]} (${percent(busiest[1])})`,
    ];
  });
  print('Single mode, whole calls, a vendor that answers at once:\n');
  printTable(['cores', 'most calls/s', 'at 70 %', 'p50 ms', 'p99 ms', 'cores used', 'busiest'], rows);
}

function fleets(): void {
  const costs = processCosts(figures, names.distributed);
  const accounts = Number(options.accounts);
  const rows = options.rates
    .split(',')
    .map(Number)
    .map((rate) => {
      const fleet = fleetFor(costs, rate, shareOfCores, coresPerDatabase);
      const model = distributedMode(costs, fleet, accounts, Number(options.vendorMs) * 1000);
      const seconds = Math.max(4, Math.min(20, 200_000 / rate)) + Number(options.vendorMs) / 1000;
      const outcome = simulate({ seed, ...model, arrivals: { kind: 'random', callsPerSecond: rate }, seconds });
      const busiest = Object.entries(outcome.cores).toSorted((a, b) => b[1] - a[1])[0]!;
      const added = (value: number): string => ms(value - Number(options.vendorMs));
      return [
        rate,
        fleet.gateways,
        fleet.inferences,
        fleet.ledgers,
        fleet.meterings,
        fleet.databases,
        ((rate * costs.writtenBytes) / 1e6).toFixed(0),
        added(outcome.p50Ms),
        added(outcome.p99Ms),
        `${busiest[0]} (${percent(busiest[1])})`,
      ];
    });
  print(
    `Distributed mode, ${accounts} accounts, ${options.vendorMs} ms at the vendor, processes of one core, databases of ${coresPerDatabase} cores, sized for ${percent(shareOfCores)}:\n`,
  );
  printTable(
    [
      'calls/s',
      'gateways',
      'inference',
      'ledgers',
      'metering',
      'databases',
      'MB written per second',
      'added p50 ms',
      'p99 ms',
      'busiest core',
    ],
    rows,
  );
}

check();
machines();
fleets();
