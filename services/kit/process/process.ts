// The lifecycle of a process: configuration, logs and telemetry first, then its parts in order; on a signal everything stops in
// reverse, within a time limit.
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../clock.js';
import { type CommonConfig, commonSettings, identityOf, tlsOf } from '../config/common.js';
import { otelLibrarySettings } from '../config/otel/library-settings.js';
import { checkOtel, otelSettings } from '../config/otel/settings.js';
import { unusedOtelNames } from '../config/otel/unused-names.js';
import {
  checkTogether,
  ConfigError,
  type Environment,
  type GroupValues,
  parseGroups,
  type SettingGroups,
  type SettingsCheck,
} from '../config/settings.js';
import { isUnwritable } from '../db/errors.js';
import { type Part, startInOrder } from '../lifecycle.js';
import { createLogger, type Logger } from '../log.js';
import { AppError } from '#client/errors/app-error.js';
import { dialGrpc, type DialGrpcOptions, type GrpcConnection } from '#client/grpc/grpc-client.js';
import type { Tls } from '#client/tls.js';
import { timed } from '../rpc/chain/rpc-metrics.js';
import type { MetricSnapshot } from '../telemetry/metrics.js';
import { observeCertificates } from '../telemetry/runtime-metrics.js';
import { type ProcessTelemetry, startTelemetry } from '../telemetry/telemetry.js';
import { setCertificate } from './process-info.js';
import { setV8Flags, v8Flags, v8FlagsOnceStarted } from './v8-flags.js';

/** What a process provides to its parts. */
export interface ProcessHost {
  readonly log: Logger;
  readonly clock: Clock;
  readonly common: CommonConfig;
  /** The process's certificates, if it has any. */
  readonly tls: Tls | undefined;
  /** Opens a connection with this process's name and certificates; it is closed when everything has stopped. */
  dial(service: string, address: string, options?: Pick<DialGrpcOptions, 'timeoutMs' | 'attempts'>): GrpcConnection;
  /** Stops the process as SIGINT does, but with status 1, so that its supervisor starts it again. Before every part has started, ends it immediately. */
  fail(error: unknown): void;
  /** Adds the metrics of threads to those of this process. */
  addMetrics(source: () => Promise<readonly MetricSnapshot[]>): void;
}

/** Options of `runProcess`. */
export interface ProcessOptions<G extends SettingGroups> {
  /** "ledger": its name in logs, in telemetry and to peers. */
  name: string;
  /** Its settings, in groups that it names; it also has those of `commonSettings`. */
  settings: G;
  /** Checks of settings that depend on each other. */
  checks?: readonly SettingsCheck[];
  /** Unknown settings with these prefixes are rejected; those of other processes are ignored. */
  ownPrefixes: readonly string[];
  /** How long stopping may take after draining, for closing databases and sending the last spans; 10 s by default. */
  stopMsExtra?: number;
  /** Creates the parts, in the order in which they start. */
  build(config: GroupValues<G>, host: ProcessHost): readonly Part[] | Promise<readonly Part[]>;
}

const stopMsExtraDefault = 10_000;

/**
 * Starts the process; resolves when every part has started. SIGTERM stops it after the lame-duck time and SIGINT without delay; a later
 * signal ends it immediately. An invalid configuration is printed and ends it with status 1, as does a part that cannot start or an uncaught error.
 */
export async function runProcess<G extends SettingGroups>(options: ProcessOptions<G>, env: Environment = process.env): Promise<void> {
  setV8Flags(v8Flags);
  const { common, groups, tls } = readConfig(options, env);
  // Only this user can read databases, sockets, logs and keys, from the moment they are created; SQLite would let every user read them.
  process.umask(0o077);
  const log = createLogger({ name: options.name, level: common.logLevel });
  endOnUncaught(log);
  const endEarlySignals = endOnEarlySignal(log);
  if (tls !== undefined) setCertificate(tls.watch({ log }));
  let telemetry: ProcessTelemetry;
  try {
    telemetry = await startTelemetry({
      ...identityOf(options.name, common),
      otel: common,
      metricsIntervalMs: common.otelMetricsIntervalMs,
      metricsListen: common.metricsListen,
      log,
    });
  } catch (error) {
    // The only AppError here is about the address at which metrics are served.
    const fix = error instanceof AppError ? ` Set ${commonSettings(options.name).metricsListen.env} to another address.` : '';
    reportFailedStart(error, log, fix);
    return process.exit(1);
  }
  const unused = unusedOtelNames(env);
  if (unused.length > 0) log.warn({ variables: unused }, 'these variables of OpenTelemetry have no effect here');
  const { tlsCert, tlsCa } = common;
  if (tlsCert !== undefined && tlsCa !== undefined) observeCertificates({ certificate: tlsCert, authority: tlsCa }, log);
  const connections: GrpcConnection[] = [];
  let fail = (error: unknown): void => {
    log.fatal({ err: error }, 'failed before the start was complete');
    process.exit(1);
  };
  const host: ProcessHost = {
    log,
    clock: systemClock,
    common,
    tls,
    dial(service, address, dialOptions) {
      const connection = dialGrpc(address, { ...dialOptions, caller: options.name, service, tls });
      connections.push(connection);
      return { ...connection, client: (definition) => timed(definition, connection.client(definition)) };
    },
    fail: (error) => fail(error),
    addMetrics: (source) => telemetry.addSource(source),
  };
  let parts: readonly Part[];
  let stopParts: (onPart: (name: string) => void) => Promise<void>;
  let stopping = '';
  try {
    parts = await options.build(groups, host);
    stopParts = await startInOrder(parts, log);
  } catch (error) {
    reportFailedStart(error, log);
    await telemetry.stop();
    return process.exit(1);
  }
  const lameDucks = parts.filter(({ enterLameDuck }) => enterLameDuck !== undefined);
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    for (const part of lameDucks) part.enterLameDuck!();
    // Skipped for a user at a terminal, and for parts that are not behind a load balancer.
    if (signal === 'SIGTERM' && lameDucks.length > 0) await sleep(common.lameDuckMs);
    await stopParts((name) => (stopping = name));
    for (const connection of connections) connection.close();
    await telemetry.stop();
  };
  const stopMsMax = common.lameDuckMs + common.drainTimeoutMs + (options.stopMsExtra ?? stopMsExtraDefault);
  endEarlySignals();
  fail = stopOnSignal(stop, { stopMsMax, partInProgress: () => stopping }, log);
  setV8Flags(v8FlagsOnceStarted);
  log.info('started');
}

function readConfig<G extends SettingGroups>(options: ProcessOptions<G>, env: Environment) {
  try {
    const ofEvery = { common: commonSettings(options.name), libraries: otelLibrarySettings };
    const { tlsCa, tlsCert, tlsKey } = ofEvery.common;
    const checksOfEvery = [
      checkTogether(otelSettings, checkOtel),
      checkTogether({ tlsCa, tlsCert, tlsKey }, (values) => void tlsOf(values)),
    ];
    const checks = [...(options.checks ?? []), ...checksOfEvery];
    const { common, libraries: _libraries, ...groups } = parseGroups({ ...options.settings, ...ofEvery }, env, options.ownPrefixes, checks);
    const commonConfig = common as CommonConfig;
    return { common: commonConfig, groups: groups as unknown as GroupValues<G>, tls: tlsOf(commonConfig) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return process.exit(1);
  }
}

function reportFailedStart(error: unknown, log: Logger, fix = ''): void {
  if (error instanceof ConfigError) {
    process.stderr.write(`${error.message}\n`);
    return;
  }
  log.fatal({ err: error }, 'could not start');
  // In addition to the log line, for a user who started the process by hand. The driver's message may be a whole statement, or "disk I/O error" if the
  // disk is full.
  const why = isUnwritable(error)
    ? `A database cannot be written to (${(error as { code?: string }).code}); free up space on its disk, and check that this user may write to its files.`
    : error instanceof Error
      ? error.message
      : String(error);
  process.stderr.write(`Could not start: ${why}${fix}\n`);
}

/** Ends the process at an uncaught error; in a worker thread, ends only the thread. */
export function endOnUncaught(log: Logger): void {
  const end = (error: unknown): never => {
    log.fatal({ err: error }, 'uncaught error');
    return process.exit(1);
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}

/**
 * Ends the process at a signal that arrives before it has started. The kernel does that for every process but the first of a container, which would
 * wait for its database until the grace period is over. Returns a function that stops this.
 */
function endOnEarlySignal(log: Logger): () => void {
  if (process.pid !== 1) return () => undefined;
  const end = (signal: 'SIGTERM' | 'SIGINT'): never => {
    log.info({ signal }, 'stopping before the start is complete');
    return process.exit(128 + constants.signals[signal]);
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  return () => void process.off('SIGTERM', end).off('SIGINT', end);
}

/**
 * Signals this soon after the first are part of the same request: a terminal and npm both forward Ctrl-C, and when a launcher is killed, the kernel
 * sends the signal of `setpriv --pdeathsig` (supervisor.ts) again for each of its threads that has adopted the process.
 */
const duplicateMsMax = 500;

interface StopOptions {
  readonly stopMsMax: number;
  /** The part that is stopping. */
  partInProgress(): string;
}

/** Stops the process at the first signal. Returns a function that stops it after a failure, with status 1. */
function stopOnSignal(
  stop: (signal: NodeJS.Signals) => Promise<void>,
  { stopMsMax, partInProgress }: StopOptions,
  log: Logger,
): (error: unknown) => void {
  let startedMs: number | undefined;
  let status = 0;
  const begin = (signal: NodeJS.Signals): void => {
    startedMs = performance.now();
    const timer = setTimeout(() => {
      log.error({ part: partInProgress() }, 'did not stop in time');
      process.exit(1);
    }, stopMsMax).unref();
    stop(signal).then(
      () => {
        clearTimeout(timer);
        log.info('stopped');
        process.exit(status);
      },
      (error: unknown) => {
        clearTimeout(timer);
        log.error({ err: error }, 'failed to stop');
        process.exit(1);
      },
    );
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (startedMs !== undefined) {
      if (performance.now() - startedMs <= duplicateMsMax) return;
      log.warn({ signal }, 'stopping immediately');
      process.exit(1);
    }
    log.info({ signal }, 'stopping');
    begin(signal);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return (error) => {
    log.fatal({ err: error }, 'stopping after a failure');
    status = 1;
    if (startedMs === undefined) begin('SIGINT');
  };
}
