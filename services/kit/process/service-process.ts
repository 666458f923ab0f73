// A process that serves gRPC, as each services/<name>/main.ts runs it.
import { everyAbout } from '../scheduling/shared-timers.js';
import { serverSettings } from '../config/addresses.js';
import type { Environment, Settings, SettingsCheck, Values } from '../config/settings.js';
import type { Part, ServiceModule } from '../lifecycle.js';
import type { Logger } from '../log.js';
import { type ProcessHost, runProcess } from './process.js';
import type { ServiceDefinition, ServiceOf } from '#client/definition.js';
import { Access } from '../rpc/access/access.js';
import { type CallerSource, followCallers } from '../rpc/access/follow-callers.js';
import { type GrpcServer, serveGrpc } from '../rpc/grpc/grpc-server.js';
import type { ServedService } from '../rpc/served-service.js';
import { type ChainOptions, decorateService } from '../rpc/chain/standard-chain.js';
import type { Tls } from '#client/tls.js';

/** A service that a process offers to others; created by `offer`. */
export interface Offer {
  /** The full name of the service: "tollgate.ledger.v1.LedgerService". */
  readonly serviceName: string;
  readonly module: Pick<ServiceModule<unknown>, 'name' | 'ready'>;
  served(chain: ChainOptions): ServedService;
}

/** Returns the module's service behind the standard chain of decorators. */
export function offer<D extends ServiceDefinition>(definition: D, module: ServiceModule<ServiceOf<D>>): Offer {
  const served: Offer['served'] = (chain) => ({ definition, service: decorateService(definition, module.service, chain) });
  return { serviceName: definition.fullName, module, served };
}

/** What a service process provides to its parts. */
interface ServiceHost extends ProcessHost {
  /** Decides which caller may call what in this process. */
  readonly access: Access;
}

/** The parts of a service process. */
interface ServiceParts {
  readonly parts: readonly Part[];
  readonly offers: readonly Offer[];
  /** Where registered callers are kept; absent: there are only built-in callers. */
  readonly callers?: CallerSource;
}

/** Options of `runService`. */
export interface ServiceProcessOptions<S extends Settings> {
  /** "ledger": the name of the process, and the prefix of its settings (TOLLGATE_LEDGER_…). */
  name: string;
  settings: S;
  /** Checks of settings that depend on each other. */
  checks?: readonly SettingsCheck[];
  /** Where it listens unless TOLLGATE_<NAME>_LISTEN is set: "127.0.0.1:7103". */
  listen: string;
  /** Decides which caller may call what; by default as the contracts declare. */
  access?: Access;
  /** Creates the parts in the order in which they start, including the service's own module, and what is served. */
  build(config: Values<S>, host: ServiceHost): ServiceParts;
}

/** Runs a service as its own process: its parts, then the server that offers it, which is healthy while the service is ready. */
export async function runService<S extends Settings>(options: ServiceProcessOptions<S>, env: Environment = process.env): Promise<void> {
  const prefix = `TOLLGATE_${options.name.toUpperCase()}_`;
  const server = serverSettings(options.name, options.listen);
  await runProcess(
    {
      name: options.name,
      settings: { service: options.settings, server },
      ...(options.checks && { checks: options.checks }),
      ownPrefixes: [prefix],
      build(config, host) {
        const access = options.access ?? new Access();
        const { parts, offers, callers } = options.build(config.service, { ...host, access });
        const following =
          callers === undefined ? [] : [followCallers({ access, source: callers, caller: options.name, clock: host.clock, log: host.log })];
        return [
          ...parts,
          ...following,
          grpcPart(
            {
              address: config.server.listen,
              setting: server.listen.env,
              healthAddress: config.server.healthListen,
              healthSetting: server.healthListen.env,
              offers,
              access,
              tls: host.tls,
            },
            host,
          ),
        ];
      },
    },
    env,
  );
}

// A service that lost its database is out of rotation within a second or two, and back just as fast.
const readyPollMs = 1000;

/** Options of `grpcPart`. */
export interface GrpcPartOptions {
  /** host:port or unix:/path. */
  address: string;
  /** The setting that names the address, for messages. */
  setting?: string;
  /** host:port for probes without certificates. */
  healthAddress?: string | undefined;
  /** The setting that names it, for messages. */
  healthSetting?: string;
  offers: readonly Offer[];
  access: Access;
  /** Undefined: callers are trusted to be who they say they are. */
  tls: Tls | undefined;
}

/** Returns a gRPC server as a part: its health follows the modules' readiness from the start, and when it stops, calls in flight drain first. */
export function grpcPart(
  { address, setting, healthAddress, healthSetting, offers, access, tls }: GrpcPartOptions,
  { log, common }: Pick<ProcessHost, 'log' | 'common'>,
): Part {
  let server: GrpcServer | undefined;
  let isLameDuck = false;
  let stopPolling = (): void => {};
  return {
    name: 'grpc',
    async start() {
      const running = await serveGrpc({
        services: offers.map((each) => each.served({ access, log })),
        address,
        setting,
        healthAddress,
        healthSetting,
        tls,
        trustNetwork: common.trustNetwork,
        log,
      });
      server = running;
      const follow = followReadiness(offers, (unready) => running.setServing(!isLameDuck, unready), log);
      await follow();
      stopPolling = everyAbout(readyPollMs, () => void follow());
      log.info({ address: running.address, tls: tls !== undefined }, 'serving gRPC');
    },
    enterLameDuck() {
      isLameDuck = true;
      server?.setServing(false);
    },
    async stop() {
      stopPolling();
      await server?.stop(common.drainTimeoutMs);
    },
  };
}

/** Checks at each call whether the modules are ready, reports the services of those that are not, and logs when it changes. */
function followReadiness(offers: readonly Offer[], report: (unready: readonly string[]) => void, log: Logger): () => Promise<void> {
  let wasReady = true;
  return async () => {
    const faults = await Promise.all(
      offers.map(({ module }) => module.ready().then((state) => (state.ok ? undefined : state.why), String)),
    );
    const why = faults.filter((fault) => fault !== undefined);
    const isReady = why.length === 0;
    if (wasReady && !isReady) log.warn({ why }, 'not ready');
    if (!wasReady && isReady) log.info('ready again');
    wasReady = isReady;
    report(offers.filter((_, index) => faults[index] !== undefined).map(({ serviceName }) => serviceName));
  };
}
