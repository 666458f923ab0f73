// The gateway: the only component that serves HTTP. It owns no data.
import { createServer, type Server } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '#kit/clock.js';
import type { CommonConfig } from '#kit/config/common.js';
import { AppError } from '#client/errors/app-error.js';
import type { Part } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import { observeDisks } from '#kit/telemetry/runtime-metrics.js';
import { createApp } from './app.js';
import { BudgetFallbacks } from './call/admission/budget-fallback.js';
import { createCheckpoints } from './call/recording/checkpoints.js';
import type { GatewayConfig } from './config.js';
import { BodyGuard } from './http/body-guard.js';
import { type Connections, watchConnections } from './http/connections.js';
import { connectionsWithin } from './http/open-files.js';
import { localOccupancy, type Occupancy } from './http/occupancy.js';
import type { CallDeps } from './call/metered-call.js';
import { createStoredResponses } from './call/stored-responses/stored-responses.js';
import { createRetries } from './call/retries/retries.js';
import { createKeyedCalls } from './call/idempotency/keyed-calls.js';
import { createLimiter, type LimitStore } from './limits/limiter.js';
import { redisLimitStore } from './limits/redis-store.js';
import { defaultLimits } from './limits/settings.js';
import { windowMemory, WindowTable } from '#kit/limits/window-table.js';
import { observeGateway } from './gateway-metrics.js';
import type { GatewayPeers } from './peers.js';
import { createKeyReplica } from './replicas/keys.js';
import { ModelPerformanceReplica } from './replicas/model-performance.js';
import { createModelReplica } from './replicas/models.js';
import { createReadiness } from './readiness.js';
import { isUntrustedProxy } from './http/public-address.js';
import { findWarnings } from './warnings.js';
import { createPromptLogs } from './prompt-log/prompt-logs.js';
import { createRefusals } from './refusals/refusals.js';
import { DisconnectDrain } from './call/response/drain-after-disconnect.js';
import { createRecorder } from './call/recording/recorder.js';
import { createSpool } from './call/recording/spool/spool.js';
import { createUnknownHolds } from './call/admission/unknown-holds.js';

export { gatewaySettings, gatewayCheck, type GatewayConfig } from './config.js';
export { clearOccupancy, occupancyMemory, sharedOccupancy } from './http/occupancy.js';
export { clearWindows, type WindowMemory, windowMemory, WindowTable } from '#kit/limits/window-table.js';
export { adoptSpools } from './call/recording/spool/adopt.js';
export { replaySpool } from './call/recording/spool/replay.js';

/** A gateway and where it listens. */
export interface Gateway extends Part {
  /** Reports whether calls can be served now, and what is missing if not. */
  ready(): Promise<{ ok: true } | { ok: false; why: string }>;
  /** The base URL, for example http://127.0.0.1:8080; known once started. */
  address(): string;
}

/** How long a client may take to send its request line and headers. */
const headersTimeoutMs = 20_000;
/** How long a client may take to send a whole request. */
const requestTimeoutMs = 300_000;
/** Longer than the idle timeouts of common load balancers, so that they close first and never send to a closed connection. */
const idleTimeoutMs = 75_000;
const drainPollMs = 20;
/**
 * How long a connection that has just answered stays open for a next request while the gateway stops: a client that reuses it at that moment would
 * lose its request.
 */
const lastRequestMs = 1000;

/** What the gateway needs from its process. */
export interface GatewayDeps {
  readonly peers: GatewayPeers;
  readonly clock: Clock;
  readonly log: Logger;
  readonly common: Pick<CommonConfig, 'lameDuckMs' | 'drainTimeoutMs'>;
  /** Where ended calls are kept that metering could not store yet: a folder used by this process only. */
  readonly spoolDir: string;
  /** Present in a gateway that shares its port and its limits with other threads of its process. */
  readonly shared?: {
    /** From 1; also the name of the gateway's folder in `spoolDir`. */
    readonly thread: number;
    /** What all threads together are occupied with. */
    readonly occupancy: Occupancy;
    /** Where all threads together count calls against rate limits. */
    readonly limits: LimitStore;
  };
}

/** Creates a gateway that uses these peers. */
export function createGateway(config: GatewayConfig, deps: GatewayDeps): Gateway {
  const { peers, clock, log } = deps;
  const { rpcTimeoutMs } = config;
  const keys = createKeyReplica({
    auth: peers.auth,
    clock,
    log,
    keysMax: config.keysCachedMax,
    withoutAuthMs: config.keysWithoutAuthMs,
    rpcTimeoutMs,
  });
  const models = createModelReplica({
    catalog: peers.catalog,
    inference: peers.inference,
    clock,
    log,
    upstreamsIntervalMs: config.upstreamsIntervalMs,
    rpcTimeoutMs,
  });
  const checkpoints = createCheckpoints({ metering: peers.metering, log, intervalMs: config.checkpointIntervalMs, rpcTimeoutMs });
  const recorder = createRecorder(
    {
      metering: peers.metering,
      clock,
      log,
      rpcTimeoutMs,
      spoolAfterMs: config.spoolAfterMs,
      patienceMs: config.recordPatienceMs,
      persistenceMs: config.recordPersistenceMs,
    },
    () => spool,
  );
  const { shared, spoolDir } = deps;
  const occupancy = shared?.occupancy ?? localOccupancy();
  const local: LimitStore = shared?.limits ?? new WindowTable(windowMemory(1), 1);
  const { redisUrl, limitsWithoutRedis: withoutRedis } = config;
  const limitStore = redisUrl === undefined ? local : redisLimitStore({ url: redisUrl, withoutRedis, local, clock, log });
  const limiter = createLimiter({
    store: limitStore,
    defaults: defaultLimits(config),
    clock,
  });
  const spool = createSpool({
    folder: shared === undefined ? spoolDir : join(spoolDir, String(shared.thread)),
    root: spoolDir,
    occupancy,
    bytesMax: config.spoolBytesMax,
    reportsMax: config.spoolReportsMax,
    post: (request) => recorder.post(request),
    clock,
    log,
  });
  const disconnectDrain = new DisconnectDrain(config);
  const unknownHolds = createUnknownHolds({ ledger: peers.ledger, clock, log, rpcTimeoutMs, holdTtlMs: config.holdTtlMs });
  const callDeps: CallDeps = {
    peers,
    models,
    checkpoints,
    recorder,
    unknownHolds,
    limiter,
    fallbacks: new BudgetFallbacks(models),
    drain: disconnectDrain,
    config,
    clock,
    log,
  };
  const keyedCalls = createKeyedCalls(callDeps);
  const retries = createRetries(callDeps);
  const storedResponses = createStoredResponses({ config, metering: peers.metering });
  const refusals = createRefusals({ metering: peers.metering, models, clock, log, rpcTimeoutMs });
  const promptLogs = createPromptLogs({
    metering: peers.metering,
    clock,
    log,
    rpcTimeoutMs,
    isOn: config.promptLogging,
    queueCharsMax: config.promptLogQueueCharsMax,
  });
  const readiness = createReadiness({ health: peers.health, keys, models, recorder, spool, clock });
  let endObserving = (): void => {};
  let isDraining = false;
  let server: Server | undefined;
  let connections: Connections | undefined;
  let bodies: BodyGuard | undefined;

  function enterLameDuck(): void {
    isDraining = true;
    connections?.closeAfterResponses();
  }

  return {
    name: 'gateway',
    address() {
      const { address, port } = server!.address() as AddressInfo;
      return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
    },
    async ready() {
      const missing = await readiness();
      return missing.length === 0 ? { ok: true } : { ok: false, why: `missing: ${missing.join(', ')}` };
    },
    async start() {
      await spool.start();
      await limitStore.start?.();
      const endGateway = observeGateway({
        keys,
        models,
        spool,
        readiness,
        callsInFlight: () => checkpoints.count(),
        connections: () => occupancy.connections(),
        log,
      });
      const endDisks = observeDisks({ spool: spoolDir }, log);
      endObserving = () => {
        endGateway();
        endDisks();
      };
      await keys.start();
      await models.start();
      await checkpoints.start();
      bodies = new BodyGuard(config, occupancy);
      if (isUntrustedProxy(config))
        log.warn(
          'TOLLGATE_GATEWAY_PUBLIC_URL begins with https, but TOLLGATE_GATEWAY_TRUST_PROXY is not set: all users have the network address of the proxy, and share its limits',
        );
      const app = createApp({
        performance: new ModelPerformanceReplica({ metering: peers.metering, isEnabled: config.modelPerformance, clock, log }),
        ...callDeps,
        keys,
        keyedCalls,
        retries,
        storedResponses,
        readiness,
        spoolState: () => spool.state(),
        warnings: () => findWarnings({ spoolDir, limits: limitStore, config, nowMs: clock.nowMs() }),
        isDraining: () => isDraining,
        occupancy,
        refusals,
        promptLogs,
        bodies,
      });
      server = createServer({
        headersTimeout: headersTimeoutMs,
        requestTimeout: requestTimeoutMs,
        keepAliveTimeout: idleTimeoutMs,
        noDelay: true,
      });
      // All threads have the same limit, and one of them logs it.
      const connectionsMax = connectionsWithin(config, (shared?.thread ?? 1) === 1 ? log : undefined);
      connections = watchConnections(server, { ...config, connectionsMax }, occupancy);
      server.on('request', connections.guard(app));
      await listen(server, config, shared !== undefined);
    },
    enterLameDuck,
    async stop() {
      enterLameDuck();
      endObserving();
      disconnectDrain.close();
      retries.close();
      if (server !== undefined && connections !== undefined) await drain(server, connections, () => keyedCalls.count() === 0, deps.common);
      keyedCalls.stop();
      bodies?.stop();
      const lostCalls = checkpoints.count();
      if (lostCalls > 0) {
        // Their connections are closed; each still records itself as a client disconnect.
        log.warn({ calls: lostCalls }, 'calls in flight were ended when the drain timeout expired');
        for (let waitedMs = 0; checkpoints.count() > 0 && waitedMs < rpcTimeoutMs; waitedMs += 20) await sleep(20);
      }
      await checkpoints.stop();
      await refusals.stop();
      await promptLogs.stop();
      await models.stop();
      await keys.stop();
      await unknownHolds.stop();
      await limitStore.stop?.();
      await spool.stop();
    },
  };
}

/** Throws failed_precondition if another process listens on the port: threads, which share it among themselves, would share it with that process too. */
export async function assertPortIsFree(config: Pick<GatewayConfig, 'host' | 'port'>): Promise<void> {
  const server = createServer();
  await listen(server, config, false);
  await new Promise((resolve) => server.close(resolve));
}

async function listen(server: Server, { host, port }: Pick<GatewayConfig, 'host' | 'port'>, reusePort: boolean): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const fail = ({ code, message }: NodeJS.ErrnoException): void => {
      const text =
        code === 'EADDRINUSE'
          ? `Port ${port} of ${host} is in use by another process; set PORT to another one.`
          : `The gateway cannot listen at port ${port} of ${host} (${code ?? message}); check PORT and TOLLGATE_GATEWAY_HOST.`;
      // Without the cause, whose message the log would append to this one and which adds nothing.
      reject(new AppError('failed_precondition', text));
    };
    server.once('error', fail);
    server.listen({ port, host, reusePort }, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

/**
 * Accepts no more connections and lets requests in flight end, and those that still arrive on open connections. Closes the remaining connections
 * at the end of the time. Idle connections do not delay the stop.
 */
async function drain(
  server: Server,
  connections: Connections,
  isQuiet: () => boolean,
  { lameDuckMs, drainTimeoutMs }: GatewayDeps['common'],
): Promise<void> {
  const idleMs = Math.min(lastRequestMs, lameDuckMs);
  // The HTTP server's own method closes idle connections at the same time.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  const untilMs = performance.now() + drainTimeoutMs;
  while ((connections.closeIdle(idleMs) > 0 || !isQuiet()) && performance.now() < untilMs) await sleep(drainPollMs);
  server.closeAllConnections();
  // Ends the HTTP server's own timers.
  server.close();
  await closed;
}
