// grpc.health.v1 for every server: the protocol that Kubernetes and load balancers use. https://grpc.io/docs/guides/health-checking/
import { once, setMaxListeners } from 'node:events';
import { AppError } from '#client/errors/app-error.js';
import { HealthDefinition, HealthCheckResponse_ServingStatus as Status, type Health as HealthService } from '#grpc/health/v1/health.js';
import type { ServiceModule } from '../../lifecycle.js';
import type { ServedService } from '../served-service.js';

/** The health of a server. */
export interface Health {
  readonly served: ServedService;
  /** Sets the health of every service. With `unready`, these services, and so the server as a whole, do not serve. */
  setServing(serving: boolean, unready?: readonly string[]): void;
}

/** The service name for liveness probes. It is healthy while the process responds, because a restart would not bring a database back. */
const liveness = 'liveness';

/** Returns the health of these services and, under the empty name, of the server as a whole. Not serving before `setServing`. */
export function createHealth(serviceNames: readonly string[]): Health {
  const names = ['', ...serviceNames];
  let serving = new Set<string>();
  const statusOf = (name: string): Status => {
    if (name === liveness || serving.has(name)) return Status.SERVING;
    return names.includes(name) ? Status.NOT_SERVING : Status.SERVICE_UNKNOWN;
  };
  const changes = new EventTarget();
  // There may be any number of watchers.
  setMaxListeners(0, changes);

  const service: HealthService = {
    async check({ service: name }) {
      const found = statusOf(name);
      if (found === Status.SERVICE_UNKNOWN) throw new AppError('not_found', `This server has no service "${name}".`);
      return { status: found };
    },
    async *watch({ service: name }, context) {
      // Here an unknown service is no error: https://github.com/grpc/grpc/blob/master/doc/health-checking.md
      for (let sent: Status | undefined; ;) {
        const now = statusOf(name);
        if (now === sent) await once(changes, 'change', { signal: context?.signal });
        else yield { status: (sent = now) };
      }
    },
    async list() {
      return { statuses: Object.fromEntries(names.map((name) => [name, { status: statusOf(name) }])) };
    },
  };
  return {
    served: { definition: HealthDefinition, service },
    setServing(isServing, unready = []) {
      const next = new Set(isServing ? names.filter((name) => (name === '' ? unready.length === 0 : !unready.includes(name))) : []);
      if (names.every((name) => next.has(name) === serving.has(name))) return;
      serving = next;
      changes.dispatchEvent(new Event('change'));
    },
  };
}

/** Returns the health of modules, by the full names of their services, for callers in the same process: each check queries the module. */
export function moduleHealth(modules: ReadonlyMap<string, Pick<ServiceModule<unknown>, 'ready'>>): HealthService {
  const statusOf = async (module: Pick<ServiceModule<unknown>, 'ready'>): Promise<{ status: Status }> => ({
    status: (await module.ready()).ok ? Status.SERVING : Status.NOT_SERVING,
  });
  return {
    async check({ service: name }) {
      const module = modules.get(name);
      if (module === undefined) throw new AppError('not_found', `This process has no service "${name}".`);
      return statusOf(module);
    },
    // eslint-disable-next-line require-yield
    async *watch() {
      throw new AppError('unimplemented', 'Within a process health is checked, not watched.');
    },
    async list() {
      const statuses = await Promise.all([...modules].map(async ([name, module]) => [name, await statusOf(module)] as const));
      return { statuses: Object.fromEntries(statuses) };
    },
  };
}
