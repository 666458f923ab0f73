// The lifecycle of a thread of a group (thread-group.ts): logs and telemetry first, then its parts, until the main thread stops it.
import { parentPort, workerData } from 'node:worker_threads';
import { toAppError } from '#client/errors/app-error.js';
import { type Clock, systemClock } from '../clock.js';
import { type CommonConfig, identityOf } from '../config/common.js';
import { type Part, startInOrder } from '../lifecycle.js';
import { createLogger, type Logger } from '../log.js';
import { dialThread, type ThreadConnection } from '../rpc/thread/thread-client.js';
import { timed } from '../rpc/chain/rpc-metrics.js';
import { collectMetrics } from '../telemetry/metrics.js';
import { startThreadTelemetry } from '../telemetry/telemetry.js';
import { endOnUncaught } from './process.js';
import type { ThreadOrder, ThreadReport, ThreadSetup } from './thread-group.js';

/** How long a thread that could not start may take to release what it holds. */
const leftMsMax = 1000;

/** What a thread provides to its parts. */
export interface ThreadHost {
  readonly log: Logger;
  readonly clock: Clock;
  readonly common: CommonConfig;
  /** From 1. */
  readonly thread: number;
  /** The services of the main thread. */
  readonly services: ThreadConnection;
}

/** The parts of a thread, in the order in which they start. */
export interface ThreadParts {
  readonly parts: readonly Part[];
  /** Returns the message that the main thread receives once all of them have started. */
  result(): unknown;
}

/** Runs this thread. An error at its start is reported to the main thread; an uncaught error ends the thread. */
export async function runThread<Data>(build: (data: Data, host: ThreadHost) => ThreadParts): Promise<void> {
  const { thread, processName, caller, common, port, data } = workerData as ThreadSetup;
  const report = (message: ThreadReport): void => parentPort!.postMessage(message);
  const log = createLogger({ name: processName, level: common.logLevel }).child({ thread });
  endOnUncaught(log);
  const { serviceName, instanceId } = identityOf(processName, common);
  const telemetry = await startThreadTelemetry(`${caller} ${thread}`, {
    serviceName,
    instanceId: `${instanceId}-${caller}-${thread}`,
    otel: common,
    metricsIntervalMs: common.otelMetricsIntervalMs,
    metricsListen: common.metricsListen,
    log,
  });
  const connection = dialThread(port, { caller });
  const services: ThreadConnection = {
    ...connection,
    client: (definition) => timed(definition, connection.client(definition), 'thread'),
  };
  const { parts, result } = build(data as Data, { log, clock: systemClock, common, thread, services });
  let stopParts: () => Promise<void>;
  try {
    stopParts = await startInOrder(parts, log);
  } catch (error) {
    const { reason, message } = toAppError(error);
    log.error({ err: error }, 'could not start');
    report({ kind: 'failed', reason, message: reason === 'internal' ? String((error as Error).message) : message });
    await telemetry.stop();
    // Not process.exit, which would lose the report.
    parentPort!.close();
    services.close();
    setTimeout(() => process.exit(1), leftMsMax).unref();
    return;
  }
  const stop = async (): Promise<void> => {
    await stopParts();
    await telemetry.stop();
    process.exit(0);
  };
  parentPort!.on('message', (order: ThreadOrder) => {
    if (order.kind === 'enter-lame-duck') {
      for (const part of parts) part.enterLameDuck?.();
    } else if (order.kind === 'stop') stop().catch((error: unknown) => log.error({ err: error }, 'failed to stop'));
    else void collectMetrics().then((metrics) => report({ kind: 'metrics', metrics }));
  });
  report({ kind: 'started', result: result() });
}
