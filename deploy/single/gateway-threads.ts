// The gateways of the single process in threads of their own, all on one port, alongside the thread with the services and their databases.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Health, HealthDefinition } from '#grpc/health/v1/health.js';
import type { Part } from '#kit/lifecycle.js';
import type { ProcessHost } from '#kit/process/process.js';
import type { Offer } from '#kit/process/service-process.js';
import { threadGroup } from '#kit/process/thread-group.js';
import { root } from '#kit/root.js';
import type { Access } from '#kit/rpc/access/access.js';
import type { crossings } from '#kit/rpc/local/crossing.js';
import {
  adoptSpools,
  assertPortIsFree,
  clearOccupancy,
  clearWindows,
  type GatewayConfig,
  occupancyMemory,
  type WindowMemory,
  windowMemory,
} from '../../gateway/index.js';
import { callsInFlightMemory, clearCallsInFlight, type InferenceConfig } from '../../services/inference/index.js';

const coresMin = 4;
const threadsDefaultMax = 4;

/** The data with which a gateway thread is started. */
export interface GatewayThreadData {
  readonly gateway: GatewayConfig;
  readonly inference: InferenceConfig;
  readonly dataDir: string;
  readonly spoolDir: string;
  readonly messages: keyof typeof crossings;
  readonly occupancy: SharedArrayBuffer;
  readonly callsInFlight: SharedArrayBuffer;
  readonly limits: WindowMemory;
}

/** Options of `gatewayThreads`. */
export interface GatewayThreadsOptions {
  readonly threads: number;
  readonly gateway: GatewayConfig;
  readonly inference: InferenceConfig;
  readonly dataDir: string;
  readonly spoolDir: string;
  readonly messages: keyof typeof crossings;
  readonly offers: readonly Offer[];
  readonly health: Health;
  readonly access: Access;
}

/**
 * Returns how many threads to run if none are configured. Two and three cores were not measured with a load on cores of its own (deploy/README.md). More than
 * four threads wait for the main thread. Only Linux distributes the connections to one port.
 */
export function gatewayThreadsDefault(cores = availableParallelism(), platform = process.platform): number {
  return platform === 'linux' && cores >= coresMin ? Math.min(cores - 1, threadsDefaultMax) : 0;
}

/** Returns the threads as a part, and the address of all of them. */
export function gatewayThreads(options: GatewayThreadsOptions, { log, common, addMetrics }: ProcessHost): Part & { address(): string } {
  const { threads, dataDir, spoolDir, messages, access } = options;
  const occupancy = occupancyMemory(threads);
  const callsInFlight = callsInFlightMemory(threads);
  const limits = windowMemory(threads);
  const share = (max: number): number => Math.ceil(max / threads);
  const gateway = {
    ...options.gateway,
    keysCachedMax: share(options.gateway.keysCachedMax),
    readOnCallsMax: share(options.gateway.readOnCallsMax),
    spoolBytesMax: share(options.gateway.spoolBytesMax),
    spoolReportsMax: share(options.gateway.spoolReportsMax),
  };
  let address = '';
  let { port } = gateway;
  const group = threadGroup({
    name: 'gateway',
    processName: 'single',
    script: new URL('dist/deploy/single/gateway-thread.js', root),
    threads,
    firstAlone: port === 0,
    services: [...options.offers.map((each) => each.served({ access, log })), { definition: HealthDefinition, service: options.health }],
    common,
    log,
    dataOf(): GatewayThreadData {
      return { gateway: { ...gateway, port }, inference: options.inference, dataDir, spoolDir, messages, occupancy, callsInFlight, limits };
    },
    started(result) {
      address = result as string;
      port = Number(new URL(address).port);
    },
    ended(thread) {
      clearOccupancy(occupancy, thread);
      clearCallsInFlight(callsInFlight, thread);
      clearWindows(limits, thread);
    },
  });
  addMetrics(() => group.metrics());
  return {
    ...group,
    async start() {
      if (port !== 0) await assertPortIsFree({ ...gateway, port });
      adoptSpools(
        spoolDir,
        Array.from({ length: threads }, (_, index) => index + 1),
        join(spoolDir, '1'),
      );
      await group.start();
    },
    address: () => address,
  };
}
