// grpc.health.v1 for every server: the protocol that Kubernetes and load balancers use. https://grpc.io/docs/guides/health-checking/
import type { Server } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';

/** The health of a server. */
export interface Health {
  addToServer(server: Server): void;
  setServing(serving: boolean): void;
}

/** Returns the health of these services and, under the empty name, of the server as a whole. Serving from the start. */
export function createHealth(serviceNames: readonly string[]): Health {
  const names = ['', ...serviceNames];
  const health = new HealthImplementation(Object.fromEntries(names.map((name) => [name, 'SERVING' as const])));
  return {
    addToServer: (server) => health.addToServer(server),
    setServing(serving) {
      for (const name of names) health.setStatus(name, serving ? 'SERVING' : 'NOT_SERVING');
    },
  };
}
