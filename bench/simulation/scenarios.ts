// Models of Tollgate's two modes, from the figures of a run of the call benchmark.
import type { Measured } from '../measure.ts';
import type { Machine, Model, Station, Step } from './model.ts';

/** What `node bench/run.ts --out` writes, as far as it is used here. */
export interface Figures {
  /** A synced write of one page. */
  readonly syncUs: number;
  /** Medians by load and contender. */
  readonly windows: Readonly<Record<string, Readonly<Record<string, Measured>>>>;
}

/** CPU of a call in microseconds. */
export interface CallCosts {
  /** Of the threads that serve HTTP. */
  readonly gatewayUs: number;
  /** Of the thread that holds and records, if it has one of its own. */
  readonly booksUs: number | undefined;
  /** Of a thread that wakes up to do one step. */
  readonly wakeUs: number;
  readonly syncUs: number;
  /** Of the load and the vendor. */
  readonly loadUs: number;
}

/** Steps of a call, each of which can begin with a wake-up: three of the gateway, two of the books. */
const stepsOfCall = 5;
const commitsMax = 500;

const isBooks = (thread: string): boolean => / (books|services)/.test(thread);

/** Returns the costs of a whole call: full batches from the load of 32 callers, wake-ups from the difference to lone calls. */
export function callCosts(figures: Figures, contender: string): CallCosts {
  const [busy, lone] = ['whole', 'lone'].map((load) => figures.windows[load]![contender]!) as [Measured, Measured];
  const threads = Object.entries(busy.cpuUsByThread);
  const total = threads.reduce((sum, [, us]) => sum + us, 0);
  const books = threads.filter(([name]) => isBooks(name)).reduce((sum, [, us]) => sum + us, 0);
  // Helpers of the runtime (garbage collection, compilation) are in `total` and shared out in proportion.
  const main = threads.filter(([name]) => /MainThread|gateway/.test(name)).reduce((sum, [, us]) => sum + us, 0);
  const booksUs = books === 0 ? undefined : (busy.cpuUs * books) / (books + main);
  return {
    gatewayUs: busy.cpuUs - (booksUs ?? 0),
    booksUs,
    wakeUs: Math.max(0, (lone.cpuUs - busy.cpuUs) / stepsOfCall),
    syncUs: figures.syncUs,
    loadUs: total === 0 ? 0 : busy.loadUs,
  };
}

/** Where the single process runs. */
export interface SinglePlace {
  readonly machines: readonly Machine[];
  readonly contender: string;
  readonly load: string;
  readonly gatewayThreads: number;
}

/** Cores of the contender and of the load: apart, or all shared. */
export const apart = {
  machines: [
    { name: 'contender', cores: 1 },
    { name: 'load', cores: 1 },
  ],
  contender: 'contender',
  load: 'load',
};

/** Returns the single process with whole calls. Without a books thread, everything is in one thread, which also waits for the disk. */
export function singleMode(costs: CallCosts, place: SinglePlace): Pick<Model, 'machines' | 'stations' | 'route'> {
  const { gatewayUs, booksUs, wakeUs, syncUs, loadUs } = costs;
  const { machines, contender: machine, load, gatewayThreads } = place;
  const batch = { max: commitsMax, commitUs: 0, syncUs };
  // The load and the vendor are not what is measured, and never the limit on a machine of their own.
  const others: Station = { name: 'load', machine: load, threads: 2 };
  const ofLoad: Step = { station: 'load', us: loadUs / 3 };
  if (booksUs === undefined) {
    const one: Station = { name: 'process', machine, threads: 1, wakeUs };
    const step: Step = { station: 'process', us: gatewayUs / stepsOfCall };
    const route = [ofLoad, step, step, { delayUs: syncUs }, ofLoad, step, step, { delayUs: syncUs }, step, ofLoad];
    return { machines, stations: [one, others], route: () => route };
  }
  const gateway: Station = { name: 'gateway', machine, threads: gatewayThreads, wakeUs };
  const books: Station = { name: 'books', machine, threads: 1, wakeUs, batch };
  const [own, hold]: Step[] = [
    { station: 'gateway', us: gatewayUs / 3 },
    { station: 'books', us: booksUs / 2 },
  ];
  const route = [ofLoad, own!, hold!, ofLoad, own!, hold!, own!, ofLoad];
  return { machines, stations: [gateway, books, others], route: () => route };
}

/** CPU of a call by process in distributed mode, in microseconds, with that of the database server. */
export interface ProcessCosts {
  readonly byProcess: Readonly<Record<string, number>>;
  readonly databaseUs: number;
  readonly syncUs: number;
}

/** Returns the costs of a whole call in distributed mode. */
export function processCosts(figures: Figures, contender: string): ProcessCosts {
  const busy = figures.windows['whole']![contender]!;
  const byProcess: Record<string, number> = {};
  for (const [thread, us] of Object.entries(busy.cpuUsByThread)) {
    const process = thread.split(' ')[0]!;
    byProcess[process] = (byProcess[process] ?? 0) + us;
  }
  return { byProcess, databaseUs: busy.databaseCpuUs, syncUs: figures.syncUs };
}

/** How many of each process, of one core each, and how many databases of how many cores. */
export interface Fleet {
  readonly gateways: number;
  readonly inferences: number;
  readonly ledgers: number;
  readonly meterings: number;
  readonly databases: number;
  readonly coresPerDatabase: number;
}

/** Returns a fleet whose cores are used to this share at this rate. */
export function fleetFor(costs: ProcessCosts, callsPerSecond: number, share: number, coresPerDatabase: number): Fleet {
  const cores = (us: number): number => Math.max(1, Math.ceil((callsPerSecond * us) / 1e6 / share));
  const of = (process: string): number => cores(costs.byProcess[process] ?? 0);
  return {
    gateways: of('gateway'),
    inferences: of('inference'),
    ledgers: of('ledger'),
    meterings: of('metering'),
    databases: Math.ceil(cores(costs.databaseUs) / coresPerDatabase),
    coresPerDatabase,
  };
}

/** Returns an account by its rank: the second makes half as many calls as the first, the third a third of them. */
export function accountOf(random: () => number, accounts: number): number {
  return Math.min(accounts - 1, Math.floor(Math.exp(random() * Math.log(accounts + 1))) - 1);
}

/** Spreads accounts evenly, like the hash that every table is sharded by. */
function shardOf(account: number, shards: number): number {
  return (Math.imul(account + 1, 0x9e3779b1) >>> 8) % shards;
}

/** Returns the distributed mode with whole calls of many accounts. Replicas are chosen at random, databases by the account. */
export function distributedMode(
  { byProcess, databaseUs, syncUs }: ProcessCosts,
  fleet: Fleet,
  accounts: number,
  vendorUs: number,
): Pick<Model, 'machines' | 'stations' | 'route'> {
  const machines: Machine[] = [];
  const stations: Station[] = [];
  const add = (name: string, count: number, cores: number, batch?: Station['batch']): void => {
    for (let index = 0; index < count; index += 1) {
      machines.push({ name: `${name} ${index}`, cores });
      stations.push({ name: `${name} ${index}`, machine: `${name} ${index}`, threads: cores, ...(batch === undefined ? {} : { batch }) });
    }
  };
  add('gateway', fleet.gateways, 1);
  add('inference', fleet.inferences, 1);
  add('ledger', fleet.ledgers, 1);
  add('metering', fleet.meterings, 1);
  // One commit at a time and core of each database.
  add('database', fleet.databases, fleet.coresPerDatabase, { max: 64, commitUs: 0, syncUs });
  const usOf = (process: string): number => byProcess[process] ?? 0;
  const route = (random: () => number): Step[] => {
    const pick = (name: string, count: number, us: number): Step => ({ station: `${name} ${Math.floor(random() * count)}`, us });
    const account = accountOf(random, accounts);
    const database: Step = { station: `database ${shardOf(account, fleet.databases)}`, us: databaseUs / 3 };
    const gateway = pick('gateway', fleet.gateways, usOf('gateway') / 3);
    const inference = pick('inference', fleet.inferences, usOf('inference') / 2);
    const ledger = (): Step => pick('ledger', fleet.ledgers, usOf('ledger') / 2);
    const metering = pick('metering', fleet.meterings, usOf('metering') / 2);
    const answered = [gateway, ledger(), database, gateway, inference, { delayUs: vendorUs }, inference, metering, database, gateway];
    // The settlement comes after the answer; it is part of the same sequence here, and so of the latency.
    return [...answered, metering, ledger(), database];
  };
  return { machines, stations, route };
}
