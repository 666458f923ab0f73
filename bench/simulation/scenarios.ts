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
  /** In addition, of a thread whose caches are cold. */
  readonly coldUs: number;
  /** The time until such a thread runs. */
  readonly coldWaitUs: number;
  /** A sync. */
  readonly syncUs: number;
  /** Of work after the answer: settlements and the roll-up. */
  readonly afterUs: number;
  /** Of the load and the vendor. */
  readonly loadUs: number;
}

/** Three steps of the gateway and two of the books, each of which is synced. */
const [stepsOfCall, commitsOfCall] = [5, 2];
const commitsMax = 500;

/** Threads that serve HTTP alongside the thread of the services and their databases. */
const isGateway = (thread: string): boolean => / gateway \d+$/.test(thread);
const isMain = (thread: string): boolean => / (MainThread|node)$/.test(thread);

/**
 * Returns the costs of a whole call: CPU from the load of 32 callers, cold caches from the difference to lone calls, and waits from the
 * latency of a lone call without its CPU and two syncs.
 */
export function callCosts({ windows, syncUs }: Figures, contender: string): CallCosts {
  const [busy, lone] = ['whole', 'lone'].map((load) => windows[load]![contender]!) as [Measured, Measured];
  const sumOf = (is: (thread: string) => boolean): number =>
    Object.entries(busy.cpuUsByThread).reduce((sum, [name, us]) => sum + (is(name) ? us : 0), 0);
  const [gateways, main] = [sumOf(isGateway), sumOf(isMain)];
  // Helpers of the runtime (garbage collection, compilation) are shared out in proportion.
  const booksUs = gateways === 0 ? undefined : (busy.cpuUs * main) / (gateways + main) - busy.afterUs;
  const onPathUs = busy.cpuUs - busy.afterUs;
  /** Threads that take part in a lone call. */
  const threads = booksUs === undefined ? 1 : 2;
  const loneUs = Math.max(lone.cpuUs - lone.afterUs, onPathUs);
  return {
    gatewayUs: onPathUs - (booksUs ?? 0),
    booksUs,
    coldUs: (loneUs - onPathUs) / threads,
    coldWaitUs: Math.max(0, lone.p50Ms * 1000 - loneUs - lone.loadUs - commitsOfCall * syncUs) / threads,
    afterUs: busy.afterUs,
    syncUs,
    loadUs: busy.loadUs,
  };
}

/** Where the single process runs. */
export interface SinglePlace {
  readonly machines: readonly Machine[];
  readonly contender: string;
  readonly load: string;
  readonly gatewayThreads: number;
}

/** A core for the contender and one for the load. */
export const apart = {
  machines: [
    { name: 'contender', cores: 1 },
    { name: 'load', cores: 1 },
  ],
  contender: 'contender',
  load: 'load',
};

/** Returns a time around this mean, as variable as what other work on a machine makes of it. */
const around = (random: () => number, mean: number): number => -Math.log(1 - random()) * mean;

/** Returns the single process with whole calls. The disk syncs alongside its threads: all that waits for it shares the next sync. */
export function singleMode(costs: CallCosts, place: SinglePlace): Pick<Model, 'machines' | 'stations' | 'route'> {
  const { gatewayUs, booksUs, coldUs, coldWaitUs, syncUs, loadUs } = costs;
  const { machines, contender: machine, load, gatewayThreads } = place;
  const others: Station[] = [
    { name: 'load', machine: load, threads: 2 },
    { name: 'disk', machine: 'disk', threads: 1, batch: { max: commitsMax, commitUs: 0, syncUs: (random) => around(random, syncUs) } },
  ];
  const isOne = booksUs === undefined;
  const stations: Station[] = isOne
    ? [{ name: 'process', machine, threads: 1, coldUs, coldWaitUs }]
    : [
        { name: 'gateway', machine, threads: gatewayThreads, coldUs, coldWaitUs },
        { name: 'books', machine, threads: 1, coldUs, coldWaitUs },
      ];
  const route = (random: () => number): Step[] => {
    const ofLoad = (): Step => ({ station: 'load', us: loadUs / 3 });
    const own = (): Step => ({ station: isOne ? 'process' : 'gateway', us: around(random, gatewayUs / (isOne ? stepsOfCall : 3)) });
    const commit = (): Step[] => [
      isOne ? own() : { station: 'books', us: around(random, booksUs / commitsOfCall) },
      { station: 'disk', us: 0 },
    ];
    return [ofLoad(), own(), ...commit(), ofLoad(), own(), ...commit(), own(), ofLoad()];
  };
  return { machines: [...machines, { name: 'disk', cores: 1 }], stations: [...stations, ...others], route };
}

/** CPU of a call by process in distributed mode, in microseconds, with that of the database server. */
export interface ProcessCosts {
  readonly byProcess: Readonly<Record<string, number>>;
  readonly databaseUs: number;
  /** Bytes written by all processes and the database server. */
  readonly writtenBytes: number;
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
  return { byProcess, databaseUs: busy.databaseCpuUs, writtenBytes: busy.writtenBytes, syncUs: figures.syncUs };
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
function accountOf(random: () => number, accounts: number): number {
  return Math.min(accounts - 1, Math.floor(Math.exp(random() * Math.log(accounts + 1))) - 1);
}

/** Spreads accounts evenly, like the hash that every table is sharded by. */
function shardOf(account: number, shards: number): number {
  return (Math.imul(account + 1, 0x9e3779b1) >>> 8) % shards;
}

/** Returns the distributed mode with whole calls of many accounts. Replicas are chosen at random, databases by the account. */
export function distributedMode(
  { byProcess, databaseUs, syncUs }: Omit<ProcessCosts, 'writtenBytes'>,
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
    // The settlement happens after the answer. Here it is part of the same sequence, and so of the latency.
    return [...answered, metering, ledger(), database];
  };
  return { machines, stations, route };
}
