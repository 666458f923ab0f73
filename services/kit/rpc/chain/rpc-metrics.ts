// The durations of RPCs, as the services that serve them and the processes that call them see them.
import { toAppError } from '#client/errors/app-error.js';
import { Status, statusNames } from '#client/errors/status.js';
import {
  handlerOf,
  type MethodInfo,
  methodsOf,
  type ServiceDefinition,
  type ServiceOf,
  type UnaryHandler,
  type UntypedService,
} from '#client/definition.js';
import { type Buckets, histogram } from '../../telemetry/metrics.js';

const labels = {
  'rpc.system.name': 'grpc, or thread between the threads of a process',
  'rpc.method': 'The service with its package, and the method.',
  'rpc.response.status_code': 'The gRPC status: OK, UNAVAILABLE and so on.',
};
const boundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const served = histogram(
  {
    name: 'rpc.server.call.duration',
    unit: 's',
    description: 'Duration of calls that a service served, including those within a process; without streams that never end.',
    by: 'services',
    labels: { 'rpc.method': labels['rpc.method'], 'rpc.response.status_code': labels['rpc.response.status_code'] },
  },
  boundaries,
);
const called = histogram(
  {
    name: 'rpc.client.call.duration',
    unit: 's',
    description: 'Duration of unary calls to other processes and threads, with their retries.',
    by: 'services',
    labels,
  },
  boundaries,
);

/** Returns a function that records the duration of a served call of this method. */
export function servedCalls({ fullName, definition, key }: MethodInfo): (seconds: number, status: Status) => void {
  // Streams of requests and watches last as long as their connection.
  if (definition.requestStream || key.startsWith('watch')) return () => {};
  const of = (status: Status): Buckets => served.of({ 'rpc.method': fullName, 'rpc.response.status_code': statusNames[status]! });
  // Created at the first call: most methods are never called, and each series is many lines of a scrape.
  let succeeded: Buckets | undefined;
  return (seconds, status) => (status === Status.OK ? (succeeded ??= of(Status.OK)) : of(status)).record(seconds);
}

/** Returns the client with unary methods that record the durations of their calls; with `keys`, only these methods do. */
export function timed<D extends ServiceDefinition>(
  definition: D,
  client: ServiceOf<D>,
  system: 'grpc' | 'thread' = 'grpc',
  keys?: readonly string[],
): ServiceOf<D> {
  const wrapped: UntypedService = { ...(client as UntypedService) };
  for (const info of methodsOf(definition)) {
    if (info.definition.responseStream || (keys !== undefined && !keys.includes(info.key))) continue;
    wrapped[info.key] = timedMethod(info, handlerOf(client, info) as UnaryHandler, system);
  }
  return wrapped as ServiceOf<D>;
}

function timedMethod({ fullName }: MethodInfo, call: UnaryHandler, system: string): UnaryHandler {
  const of = (status: Status): Buckets =>
    called.of({ 'rpc.system.name': system, 'rpc.method': fullName, 'rpc.response.status_code': statusNames[status]! });
  let succeeded: Buckets | undefined;
  return async (request, context) => {
    const beganAtMs = performance.now();
    try {
      const response = await call(request, context);
      (succeeded ??= of(Status.OK)).record((performance.now() - beganAtMs) / 1000);
      return response;
    } catch (error) {
      of(toAppError(error).code).record((performance.now() - beganAtMs) / 1000);
      throw error;
    }
  };
}
