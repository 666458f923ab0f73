// Connections to the services of a running gateway, as its operator.
import { findAdminSocket, isListening } from '#kit/process/admin-socket.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { dialGrpc, type GrpcConnection } from '#client/grpc/grpc-client.js';
import { type AuthService, AuthServiceDefinition } from '#proto/auth/v1/auth.js';
import { type CallerService, CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { type NotificationService, NotificationServiceDefinition } from '#proto/auth/v1/notifications.js';
import { type UserService, UserServiceDefinition } from '#proto/auth/v1/users.js';
import { type CatalogService, CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { type InferenceService, InferenceServiceDefinition } from '#proto/inference/v1/inference.js';
import { type AlertService, AlertServiceDefinition } from '#proto/ledger/v1/alerts.js';
import { type LedgerService, LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { type MeteringService, MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import type { ServiceName } from '#rules/services.js';
import type { CliConfig } from './config.js';
import { CliError } from './errors.js';

const caller = 'operator';
const callTimeoutMs = 15_000;
const healthTimeoutMs = 3000;

/** The services of a gateway. */
export interface Services {
  readonly auth: AuthService;
  readonly users: UserService;
  readonly callers: CallerService;
  readonly notifications: NotificationService;
  readonly catalog: CatalogService;
  readonly ledger: LedgerService;
  readonly alerts: AlertService;
  readonly metering: MeteringService;
  readonly inference: InferenceService;
  /** Raises service_unavailable unless the service reports that it serves. */
  checkHealth(name: ServiceName): Promise<void>;
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
  const connectionTo = (name: ServiceName): GrpcConnection => {
    const address = config.mode === 'single' ? `unix:${socketPath}` : config.addresses[name];
    const known = connections.get(address);
    if (known !== undefined) return known;
    // Only its own user can open a single process's socket, which identifies the caller well enough.
    const connection = dialGrpc(
      address,
      config.mode === 'single' || config.tls === undefined ? { caller } : { caller, service: name, tls: config.tls },
    );
    connections.set(address, connection);
    return connection;
  };
  return {
    auth: connectionTo('auth').client(AuthServiceDefinition),
    users: connectionTo('auth').client(UserServiceDefinition),
    callers: connectionTo('auth').client(CallerServiceDefinition),
    notifications: connectionTo('auth').client(NotificationServiceDefinition),
    catalog: connectionTo('catalog').client(CatalogServiceDefinition),
    ledger: connectionTo('ledger').client(LedgerServiceDefinition),
    alerts: connectionTo('ledger').client(AlertServiceDefinition),
    metering: connectionTo('metering').client(MeteringServiceDefinition),
    inference: connectionTo('inference').client(InferenceServiceDefinition),
    async checkHealth(name) {
      // Loaded only here, because it is slow to load and only the doctor needs it.
      const { checkHealth } = await import('#kit/rpc/health-client.js');
      await checkHealth(connectionTo(name), fullNames[name], { caller, timeoutMs: healthTimeoutMs });
    },
    close() {
      for (const connection of connections.values()) connection.close();
    },
  };
}

const fullNames: Readonly<Record<ServiceName, string>> = {
  auth: AuthServiceDefinition.fullName,
  catalog: CatalogServiceDefinition.fullName,
  ledger: LedgerServiceDefinition.fullName,
  metering: MeteringServiceDefinition.fullName,
  inference: InferenceServiceDefinition.fullName,
};

async function runningSocket(dataDir: string): Promise<string> {
  const path = findAdminSocket(dataDir);
  if (path !== undefined && (await isListening(path))) return path;
  throw new CliError(`No Tollgate is running for ${dataDir}; start it with \`make run\`.`, {
    fix: 'For another data folder set TOLLGATE_DATA_DIR; for a distributed gateway set TOLLGATE_AUTH_ADDRESS and the like.',
  });
}
