// Checks the health of another server with grpc.health.v1. https://grpc.io/docs/guides/health-checking/
import { service } from 'grpc-health-check';
import { AppError } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import type { GrpcConnection } from '#client/grpc/grpc-client.js';

interface HealthCheckRequest {
  service: string;
}

interface HealthCheckResponse {
  status: string;
}

const check = service['Check']!;

// The codec of the package that serves health, in the shape of our generated codecs.
const HealthDefinition = {
  name: 'Health',
  fullName: 'grpc.health.v1.Health',
  methods: {
    check: {
      name: 'Check',
      requestType: {
        encode: (message: HealthCheckRequest) => ({ finish: () => check.requestSerialize(message) }),
        decode: (bytes: Uint8Array) => check.requestDeserialize(Buffer.from(bytes)) as HealthCheckRequest,
      },
      requestStream: false,
      responseType: {
        encode: (message: HealthCheckResponse) => ({ finish: () => check.responseSerialize(message) }),
        decode: (bytes: Uint8Array) => check.responseDeserialize(Buffer.from(bytes)) as HealthCheckResponse,
      },
      responseStream: false,
    },
  },
} as const;

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
  if (status !== 'SERVING') throw new AppError('service_unavailable', `${serviceName || 'The server'} answers, but is not ready.`);
}
