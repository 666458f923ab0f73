// Checks the model against measured loads, then asks it what machines and fleets of other sizes serve. See docs/capacity.md.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { print, printTable } from '../table.ts';
import { type Arrivals, type Outcome, simulate } from './model.ts';
import { apart, callCosts, distributedMode, fleetFor, type Figures, processCosts, singleMode } from './scenarios.ts';

const { values: options } = parseArgs({
  options: {
    // What `node bench/run.ts --out` wrote.
    figures: { type: 'string', default: new URL('figures.json', import.meta.url).pathname },
    seed: { type: 'string', default: '1' },
    accounts: { type: 'string', default: '1000000' },
    rates: { type: 'string', default: '1000,10000,100000' },
    // Time that an upstream takes for a call.
    vendorMs: { type: 'string', default: '1000' },
  },
});
const seed = Number(options.seed);
const figures = JSON.parse(readFileSync(options.figures, 'utf8')) as Figures;
const names = { one: 'Tollgate, one core', two: 'Tollgate, two cores', distributed: 'Tollgate, distributed, one core' };
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
  const costs = callCosts(figures, names.one);
  const one = (arrivals: Arrivals): Outcome =>
    simulate({ seed, ...singleMode(costs, { ...apart, gatewayThreads: 1 }), arrivals, seconds: 20 });
  compare('one core, 32 callers', one({ kind: 'closed', callers: 32 }), 'whole', names.one);
  compare('one core, 100 calls/s', one({ kind: 'even', callsPerSecond: 100 }), 'paced', names.one);
  compare('one core, 20 calls/s', one({ kind: 'even', callsPerSecond: 20 }), 'lone', names.one);
  if (figures.windows['whole']?.[names.two] !== undefined) {
    const shared = { machines: [{ name: 'all', cores: 2 }], contender: 'all', load: 'all', gatewayThreads: 2 };
    const two = singleMode({ ...callCosts({ ...figures, windows: withTwo() }, names.two), wakeUs: costs.wakeUs }, shared);
    compare(
      'two cores with the load, 32 callers',
      simulate({ seed, ...two, arrivals: { kind: 'closed', callers: 32 }, seconds: 20 }),
      'whole',
      names.two,
    );
  }
  print('Measured / simulated, and the error:\n');
  printTable(['whole calls', 'calls/s', '', 'p50 ms', '', 'p99 ms', ''], rows);
}

/** Lone calls were measured on one core only. */
function withTwo(): Figures['windows'] {
  const { whole = {}, lone = {} } = figures.windows;
  return { whole, lone: { ...lone, [names.two]: lone[names.one]! } };
}

function machines(): void {
  const contender = figures.windows['whole']?.[names.two] === undefined ? names.one : names.two;
  const costs = callCosts({ ...figures, windows: withTwo() }, contender);
  const rows = [2, 4, 8, 16].map((cores) => {
    // The load has a machine of its own.
    const machinesOf = [
      { name: 'contender', cores },
      { name: 'load', cores: 1000 },
    ];
    const model = singleMode({ ...costs, loadUs: 1 }, { ...apart, machines: machinesOf, gatewayThreads: cores });
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
  printTable(['cores', 'most calls/s', 'at 70 %', 'p50 ms', 'p99 ms', 'cores used at most', 'busiest at most'], rows);
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
        added(outcome.p50Ms),
        added(outcome.p99Ms),
        `${busiest[0]} (${percent(busiest[1])})`,
      ];
    });
  print(
    `Distributed mode, ${accounts} accounts, ${options.vendorMs} ms at the vendor, processes of one core, databases of ${coresPerDatabase} cores, sized for ${percent(shareOfCores)}:\n`,
  );
  printTable(['calls/s', 'gateways', 'inference', 'ledgers', 'metering', 'databases', 'added p50 ms', 'p99 ms', 'busiest core'], rows);
}

check();
machines();
fleets();
