// Threads of this process that run the same script: started, served, restarted when they end unexpectedly, and stopped together.
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel, type MessagePort, setEnvironmentData, Worker } from 'node:worker_threads';
import { AppError } from '#client/errors/app-error.js';
import type { Reason } from '#rules/errors/reasons.js';
import type { CommonConfig } from '../config/common.js';
import type { Part } from '../lifecycle.js';
import type { Logger } from '../log.js';
import type { ServedService } from '../rpc/served-service.js';
import { serveThread, type ThreadServer } from '../rpc/thread/thread-server.js';
import { countersOf, mergeMetrics, type MetricSnapshot } from '../telemetry/metrics.js';
import { thisProcess, thisProcessKey } from './process-info.js';

/** The data with which a thread is started. */
export interface ThreadSetup {
  /** From 1. */
  readonly thread: number;
  /** The name of the process, in logs and telemetry. */
  readonly processName: string;
  /** The name under which the thread calls services. */
  readonly caller: string;
  readonly common: CommonConfig;
  /** The port over which the thread calls services. */
  readonly port: MessagePort;
  /** What `runThread` passes to its `build`. */
  readonly data: unknown;
}

/** A message from the main thread to a thread. */
export type ThreadOrder = { readonly kind: 'enter-lame-duck' | 'stop' | 'collect' };

/** A message from a thread to the main thread. */
export type ThreadReport =
  | { readonly kind: 'started'; readonly result: unknown }
  | { readonly kind: 'failed'; readonly reason: Reason; readonly message: string }
  | { readonly kind: 'metrics'; readonly metrics: readonly MetricSnapshot[] };

/** Options of `threadGroup`. */
export interface ThreadGroupOptions {
  /** The name of the threads in logs, and of their calls: "gateway". */
  readonly name: string;
  readonly processName: string;
  readonly script: URL;
  readonly threads: number;
  /** Whether the others start after the first one, because it chooses what they share, such as a free port. */
  readonly firstAlone: boolean;
  /** The services that the threads call, decorated. */
  readonly services: readonly ServedService[];
  readonly common: CommonConfig;
  readonly log: Logger;
  /** Returns what a thread is started with; called at every start. */
  dataOf(): unknown;
  /** Called with the result of `build` at every start. */
  started(result: unknown): void;
  /** Called when a thread has ended. */
  ended(thread: number): void;
}

/** Running threads. */
export interface ThreadGroup extends Part {
  /** Returns the metrics of all threads, including the counters of those that have ended. */
  metrics(): Promise<readonly MetricSnapshot[]>;
}

const restartMsMin = 100;
const restartMsMax = 5000;
const collectMsMax = 3000;

/** A thread that runs. */
interface Running {
  readonly worker: Worker;
  readonly server: ThreadServer;
  /** Resolves when it has started, and rejects when it cannot. */
  readonly started: Promise<void>;
  readonly ended: Promise<void>;
  metrics: readonly MetricSnapshot[];
  collected: () => void;
}

/** Returns the threads as a part. Its `start` fails with the error of a thread that cannot start. */
export function threadGroup(options: ThreadGroupOptions): ThreadGroup {
  const { name, common, log } = options;
  const running = new Map<number, Running>();
  let metricsOfEnded: readonly MetricSnapshot[] = [];
  let collecting: Promise<readonly MetricSnapshot[]> | undefined;
  let isStopping = false;

  function launch(thread: number): Running {
    // What identifies the process must be the same in all of its threads.
    setEnvironmentData(thisProcessKey, thisProcess as never);
    const { port1, port2 } = new MessageChannel();
    const server = serveThread(port1, { services: options.services, caller: name, log });
    const setup: ThreadSetup = {
      thread,
      processName: options.processName,
      caller: name,
      common,
      port: port2,
      data: options.dataOf(),
    };
    const worker = new Worker(options.script, { name: `${name} ${thread}`, workerData: setup, transferList: [port2] });
    const ended = new Promise<void>((resolve) => {
      worker.once('exit', () => void server.stop(0).then(resolve));
    });
    const started = new Promise<void>((resolve, reject) => {
      worker.on('message', (report: ThreadReport) => {
        if (report.kind === 'metrics') {
          launched.metrics = report.metrics;
          launched.collected();
        } else if (report.kind === 'failed') reject(new AppError(report.reason, report.message));
        else {
          options.started(report.result);
          resolve();
        }
      });
      worker.once('exit', (code) => reject(new AppError('internal', `A ${name} thread ended with ${code} before it had started.`)));
    });
    worker.on('error', (error) => log.error({ err: error, thread }, `a ${name} thread failed`));
    worker.once('exit', () => {
      running.delete(thread);
      metricsOfEnded = mergeMetrics([metricsOfEnded, countersOf(launched.metrics)]);
      launched.collected();
      options.ended(thread);
    });
    const launched: Running = { worker, server, started, ended, metrics: [], collected: () => undefined };
    running.set(thread, launched);
    return launched;
  }

  /** Starts the thread, and starts it again whenever it ends unexpectedly after that. */
  async function run(thread: number): Promise<void> {
    const first = launch(thread);
    await first.started;
    void keepRunning(thread, first);
  }

  async function keepRunning(thread: number, first: Running): Promise<void> {
    let waitMs = restartMsMin;
    for (let current = first; ;) {
      await current.ended;
      if (isStopping) return;
      log.error({ thread }, `a ${name} thread ended unexpectedly; its calls are lost, and it is started again`);
      await sleep(waitMs, undefined, { ref: false });
      if (isStopping) return;
      current = launch(thread);
      waitMs = await current.started.then(
        () => restartMsMin,
        (error: unknown) => {
          log.error({ err: error, thread }, `a ${name} thread could not be started again`);
          return Math.min(waitMs * 2, restartMsMax);
        },
      );
    }
  }

  function order(worker: Worker, message: ThreadOrder): void {
    worker.postMessage(message);
  }

  async function stop(): Promise<void> {
    isStopping = true;
    const all = [...running.values()];
    for (const { worker } of all) order(worker, { kind: 'stop' });
    await Promise.all(all.map(({ ended }) => ended));
  }

  async function collect(): Promise<readonly MetricSnapshot[]> {
    const all = [...running.values()];
    await Promise.all(
      all.map(async (each) => {
        const collected = new Promise<void>((resolve) => (each.collected = resolve));
        order(each.worker, { kind: 'collect' });
        // For a thread that is busy for longer, the previous values are returned.
        await Promise.race([collected, sleep(collectMsMax, undefined, { ref: false })]);
      }),
    );
    return mergeMetrics([metricsOfEnded, ...[...running.values()].map(({ metrics }) => metrics)]);
  }

  return {
    name: `${name} threads`,
    async start() {
      try {
        if (options.firstAlone) await run(1);
        const begun = running.size;
        await Promise.all(Array.from({ length: options.threads - begun }, (_, index) => run(begun + index + 1)));
      } catch (error) {
        await stop();
        throw error;
      }
    },
    enterLameDuck() {
      for (const { worker } of running.values()) order(worker, { kind: 'enter-lame-duck' });
    },
    stop,
    // Several receivers may collect at the same time.
    metrics: () => (collecting ??= collect().finally(() => (collecting = undefined))),
  };
}
