// A network of queues: threads that share cores, batches that share a commit, and calls that pass through them. Deterministic for a seed, with
// no clock of its own and no I/O.

import { randomOf } from '../random.ts';

/** A pool of cores that threads run on. */
export interface Machine {
  readonly name: string;
  readonly cores: number;
}

/** Threads that do one kind of work, first come, first served. */
export interface Station {
  readonly name: string;
  readonly machine: string;
  readonly threads: number;
  /** CPU that a piece of work costs in addition after its thread was idle for long, when caches are cold; less after a shorter time. */
  readonly coldUs?: number;
  /** The same for time without CPU, until the thread runs. */
  readonly coldWaitUs?: number;
  /** Set if waiting work is processed as one batch. */
  readonly batch?: Batch;
}

/** How work shares commits. */
interface Batch {
  readonly max: number;
  /** CPU of a batch, whatever its size. */
  readonly commitUs: number;
  /** How long the disk takes. The thread waits for it without a core. */
  readonly syncUs: number | ((random: () => number) => number);
}

/** A step of a call: CPU at a station, or time at a vendor, which has no queue. */
export type Step = { readonly station: string; readonly us: number } | { readonly delayUs: number };

/** How calls arrive. */
export type Arrivals =
  | { readonly kind: 'closed'; readonly callers: number }
  | { readonly kind: 'even' | 'random'; readonly callsPerSecond: number };

/** The simulated system. */
export interface Model {
  readonly seed: number;
  readonly machines: readonly Machine[];
  readonly stations: readonly Station[];
  /** Returns the steps of the next call. */
  readonly route: (random: () => number) => readonly Step[];
  readonly arrivals: Arrivals;
  readonly seconds: number;
}

/** The results. The first tenth of the time is not counted. */
export interface Outcome {
  readonly callsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Calls that had not ended at the end, which grows if something is saturated. */
  readonly openCalls: number;
  /** The share of time in which the threads of a station were busy, with waits for the disk. */
  readonly busy: Readonly<Record<string, number>>;
  /** Work per batch. */
  readonly batchSize: Readonly<Record<string, number>>;
  /** The share of its cores that a machine used. */
  readonly cores: Readonly<Record<string, number>>;
}

/** A thread that was idle for this long costs 63 % of `coldUs`, as 20 and 100 calls per second were measured to differ. */
const coolingUs = 20_000;

/** Events in order of time; those of the same time in order of their arrival. */
class Agenda {
  private readonly times: number[] = [];
  private readonly orders: number[] = [];
  private readonly actions: (() => void)[] = [];
  private count = 0;

  add(time: number, action: () => void): void {
    let at = this.times.length;
    const order = (this.count += 1);
    this.times.push(time);
    this.orders.push(order);
    this.actions.push(action);
    for (let parent = (at - 1) >> 1; at > 0 && this.isBefore(at, parent); at = parent, parent = (at - 1) >> 1) this.swap(at, parent);
  }

  /** Removes the next event and returns its time and action. */
  next(): readonly [number, () => void] {
    const first = [this.times[0]!, this.actions[0]!] as const;
    const last = this.times.length - 1;
    this.swap(0, last);
    this.times.pop();
    this.orders.pop();
    this.actions.pop();
    for (let at = 0; ;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < last && this.isBefore(child, least)) least = child;
      if (least === at) return first;
      this.swap(at, least);
      at = least;
    }
  }

  get isEmpty(): boolean {
    return this.times.length === 0;
  }

  private isBefore(a: number, b: number): boolean {
    return this.times[a]! < this.times[b]! || (this.times[a] === this.times[b] && this.orders[a]! < this.orders[b]!);
  }

  private swap(a: number, b: number): void {
    for (const list of [this.times, this.orders, this.actions] as unknown[][]) [list[a], list[b]] = [list[b], list[a]];
  }
}

/** A first-in-first-out list whose removal costs the same at any length. */
class Fifo<T> {
  private items: T[] = [];
  private head = 0;

  get length(): number {
    return this.items.length - this.head;
  }

  push(item: T): void {
    this.items.push(item);
  }

  take(max: number): T[] {
    const taken = this.items.slice(this.head, this.head + max);
    this.head += taken.length;
    if (this.head > 1000 && this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return taken;
  }
}

interface Work {
  readonly us: number;
  readonly done: () => void;
}

/** Runs the model. Times are in microseconds. */
export function simulate({ seed, machines, stations, route, arrivals, seconds }: Model): Outcome {
  const random = randomOf(seed);
  const agenda = new Agenda();
  const endUs = seconds * 1e6;
  const countFromUs = endUs / 10;
  let nowUs = 0;
  /** The part of a span that is counted. */
  const counted = (fromUs: number, untilUs: number): number => Math.max(0, Math.min(untilUs, endUs) - Math.max(fromUs, countFromUs));

  const pools = new Map(machines.map(({ name, cores }) => [name, { free: cores, cores, ready: new Fifo<Work>(), usedUs: 0 }]));
  /** Uses a core of the machine for this long, as soon as one is free. */
  const compute = (machine: string, work: Work): void => {
    const pool = pools.get(machine)!;
    if (pool.free === 0) return pool.ready.push(work);
    pool.free -= 1;
    pool.usedUs += counted(nowUs, nowUs + work.us);
    agenda.add(nowUs + work.us, () => {
      pool.free += 1;
      const [next] = pool.ready.take(1);
      if (next !== undefined) compute(machine, next);
      work.done();
    });
  };

  const queues = new Map(
    stations.map((station) => [
      station.name,
      { station, idle: station.threads, waiting: new Fifo<Work>(), busyUs: 0, batches: 0, works: 0, endedUs: 0 },
    ]),
  );
  type Queue = NonNullable<ReturnType<typeof queues.get>>;
  const serve = (queue: Queue, isAwake: boolean): void => {
    const { station } = queue;
    if (queue.idle === 0 || queue.waiting.length === 0) return;
    const works = queue.waiting.take(station.batch?.max ?? 1);
    const startedUs = nowUs;
    queue.idle -= 1;
    queue.batches += 1;
    queue.works += works.length;
    const coldness = isAwake ? 0 : 1 - Math.exp((queue.endedUs - nowUs) / coolingUs);
    const waitUs = (station.coldWaitUs ?? 0) * coldness;
    const us = works.reduce((sum, work) => sum + work.us, 0) + (station.batch?.commitUs ?? 0) + (station.coldUs ?? 0) * coldness;
    const ended = (): void => {
      queue.busyUs += counted(startedUs, nowUs);
      for (const work of works) work.done();
      queue.endedUs = nowUs;
      // Last, so that this thread continues with all that has arrived by now.
      queue.idle += 1;
      serve(queue, true);
    };
    const sync = station.batch?.syncUs ?? 0;
    const syncUs = typeof sync === 'number' ? sync : sync(random);
    const begin = (): void => compute(station.machine, { us, done: syncUs === 0 ? ended : () => agenda.add(nowUs + syncUs, ended) });
    if (waitUs === 0) begin();
    else agenda.add(nowUs + waitUs, begin);
  };

  const latenciesUs: number[] = [];
  let openCalls = 0;
  const begin = (onEnd: () => void): void => {
    const steps = route(random);
    const beganUs = nowUs;
    openCalls += 1;
    const proceed = (index: number): void => {
      const step = steps[index];
      if (step === undefined) {
        openCalls -= 1;
        if (nowUs > countFromUs && nowUs <= endUs) latenciesUs.push(nowUs - beganUs);
        return onEnd();
      }
      if ('delayUs' in step) return agenda.add(nowUs + step.delayUs, () => proceed(index + 1));
      const queue = queues.get(step.station)!;
      queue.waiting.push({ us: step.us, done: () => proceed(index + 1) });
      serve(queue, false);
    };
    proceed(0);
  };

  if (arrivals.kind === 'closed') {
    const again = (): void => begin(again);
    for (let caller = 0; caller < arrivals.callers; caller += 1) agenda.add(0, again);
  } else {
    const gapUs = 1e6 / arrivals.callsPerSecond;
    const arrive = (): void => {
      begin(() => undefined);
      agenda.add(nowUs + (arrivals.kind === 'even' ? gapUs : -Math.log(1 - random()) * gapUs), arrive);
    };
    agenda.add(0, arrive);
  }
  while (!agenda.isEmpty) {
    const [time, action] = agenda.next();
    if (time > endUs) break;
    nowUs = time;
    action();
  }

  latenciesUs.sort((a, b) => a - b);
  const at = (share: number): number =>
    (latenciesUs[Math.min(latenciesUs.length - 1, Math.floor(latenciesUs.length * share))] ?? Number.NaN) / 1000;
  const countedUs = endUs - countFromUs;
  const each = <T>(figure: (queue: Queue) => T): Record<string, T> =>
    Object.fromEntries([...queues].map(([name, queue]) => [name, figure(queue)]));
  return {
    callsPerSecond: (latenciesUs.length * 1e6) / countedUs,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    openCalls,
    busy: each(({ busyUs, station }) => busyUs / station.threads / countedUs),
    batchSize: each(({ works, batches }) => (batches === 0 ? 0 : works / batches)),
    cores: Object.fromEntries([...pools].map(([name, { usedUs, cores }]) => [name, usedUs / cores / countedUs])),
  };
}
