// Connections to the services of a running gateway, as its operator.
import { findAdminSocket, isListening } from '#kit/process/admin-socket.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { dialGrpc, type GrpcConnection } from '#client/grpc/grpc-client.js';
import { type AuthService, AuthServiceDefinition } from '#proto/auth/v1/auth.js';
import { type CallerService, CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { type NotificationService, NotificationServiceDefinition } from '#proto/auth/v1/notifications.js';
import { type UserService, UserServiceDefinition } from '#proto/auth/v1/users.js';
import { type WebhookService, WebhookServiceDefinition } from '#proto/auth/v1/webhooks.js';
import { type CatalogService, CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { type InferenceService, InferenceServiceDefinition } from '#proto/inference/v1/inference.js';
import { type AlertService, AlertServiceDefinition } from '#proto/ledger/v1/alerts.js';
import { type LedgerService, LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { type MeteringService, MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import type { ProcessInfo } from '#proto/process/v1/process.js';
import type { ServiceName } from '#rules/services.js';
import type { CliConfig } from './config.js';
import { CliError } from './errors.js';
import { type Replica, replicasOf } from './doctor/replicas.js';

const caller = 'operator';
const callTimeoutMs = 15_000;
const healthTimeoutMs = 3000;

/** One replica of a service. */
interface ReplicaClient {
  readonly address: string;
  /** Raises service_unavailable unless it reports that it serves. */
  checkHealth(): Promise<void>;
  /** Returns the process; undefined: it does not describe itself. */
  process(): Promise<ProcessInfo | undefined>;
}

/** The services of a gateway. */
export interface Services {
  readonly auth: AuthService;
  readonly users: UserService;
  readonly callers: CallerService;
  readonly notifications: NotificationService;
  readonly webhooks: WebhookService;
  readonly catalog: CatalogService;
  readonly ledger: LedgerService;
  readonly alerts: AlertService;
  readonly metering: MeteringService;
  readonly inference: InferenceService;
  /** Returns the replicas of a service, each of which can be queried by itself. */
  replicas(name: ServiceName): Promise<readonly ReplicaClient[]>;
  close(): void;
}

/** Returns a context for one call of the operator. */
export function operatorCall(timeoutMs = callTimeoutMs): CallContext {
  return callContext({ caller, timeoutMs });
}

/**
 * Connects to the gateway in the configuration: to the socket of a single process, or to each service. Raises a CliError when no
 * single-process gateway is running; services with their own addresses are connected when first called.
 */
export async function connect(config: CliConfig): Promise<Services> {
  const connections = new Map<string, GrpcConnection>();
  const socketPath = config.mode === 'single' ? await runningSocket(config.dataDir) : '';
  const targetOf = (name: ServiceName): string => (config.mode === 'single' ? `unix:${socketPath}` : config.addresses[name]);
  const connectionTo = (name: ServiceName, { address, host }: Replica = { address: targetOf(name) }): GrpcConnection => {
    const known = connections.get(address);
    if (known !== undefined) return known;
    // Only its own user can open a single process's socket, which identifies the caller well enough.
    const identity = config.mode === 'single' || config.tls === undefined ? {} : { service: name, tls: config.tls };
    const connection = dialGrpc(address, { caller, ...identity, ...(host === undefined ? {} : { serverName: host }) });
    connections.set(address, connection);
    return connection;
  };
  return {
    auth: connectionTo('auth').client(AuthServiceDefinition),
    users: connectionTo('auth').client(UserServiceDefinition),
    callers: connectionTo('auth').client(CallerServiceDefinition),
    notifications: connectionTo('auth').client(NotificationServiceDefinition),
    webhooks: connectionTo('auth').client(WebhookServiceDefinition),
    catalog: connectionTo('catalog').client(CatalogServiceDefinition),
    ledger: connectionTo('ledger').client(LedgerServiceDefinition),
    alerts: connectionTo('ledger').client(AlertServiceDefinition),
    metering: connectionTo('metering').client(MeteringServiceDefinition),
    inference: connectionTo('inference').client(InferenceServiceDefinition),
    async replicas(name) {
      // Loaded only here, because it is slow to load and only the doctor needs it.
      const { checkHealth } = await import('#kit/rpc/grpc/health-client.js');
      return (await replicasOf(targetOf(name))).map((replica) => ({
        address: replica.address,
        checkHealth: () => checkHealth(connectionTo(name, replica), definitions[name].fullName, { caller, timeoutMs: healthTimeoutMs }),
        process: async () => (await clientOf(name, connectionTo(name, replica)).getHealth({}, operatorCall())).process,
      }));
    },
    close() {
      for (const connection of connections.values()) connection.close();
    },
  };
}

const definitions = {
  auth: AuthServiceDefinition,
  catalog: CatalogServiceDefinition,
  ledger: LedgerServiceDefinition,
  metering: MeteringServiceDefinition,
  inference: InferenceServiceDefinition,
};

// Every service has this RPC, with a response of its own around the same message.
function clientOf(name: ServiceName, connection: GrpcConnection): Pick<AuthService, 'getHealth'> {
  return connection.client(definitions[name] as typeof AuthServiceDefinition);
}

async function runningSocket(dataDir: string): Promise<string> {
  const path = findAdminSocket(dataDir);
  if (path !== undefined && (await isListening(path))) return path;
  throw new CliError(`Tollgate is not running for ${dataDir}; start it with \`make run\`.`, {
    fix: 'For another data folder, set TOLLGATE_DATA_DIR; for a distributed gateway, set TOLLGATE_AUTH_ADDRESS and the addresses of the other services.',
  });
}
