// Checks the health of another server with grpc.health.v1. https://grpc.io/docs/guides/health-checking/
import { AppError } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import type { GrpcConnection } from '#client/grpc/grpc-client.js';
import { HealthDefinition, HealthCheckResponse_ServingStatus as Status } from '#grpc/health/v1/health.js';

/**
 * Returns when the server reports that it serves this service ("tollgate.ledger.v1.LedgerService"; empty: the server as a whole).
 * Raises service_unavailable when it does not serve it or cannot be reached, deadline_exceeded when it does not respond.
 */
export async function checkHealth(
  connection: GrpcConnection,
  serviceName: string,
  options: { caller: string; timeoutMs: number },
): Promise<void> {
  const { status } = await connection.client(HealthDefinition).check({ service: serviceName }, callContext(options));
  if (status !== Status.SERVING) throw new AppError('service_unavailable', `${serviceName || 'The server'} answers, but is not ready.`);
}
