// Every transport, for the suite that all of them must pass.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { newId } from '../id.js';
import type { ServiceDefinition, ServiceOf } from '#client/definition.js';
import { dialGrpc } from '#client/grpc/grpc-client.js';
import { serveGrpc } from '../rpc/grpc/grpc-server.js';
import { type Crossing, crossings } from '../rpc/local/crossing.js';
import { localClient } from '../rpc/local/local-client.js';
import { dialThread } from '../rpc/thread/thread-client.js';
import { aheadMax } from '../rpc/thread/stream-ends.js';
import { serveThread } from '../rpc/thread/thread-server.js';
import type { Tls } from '#client/tls.js';
import { createTestAuthority } from './certificates.js';
import { recordingLogger } from './log.js';

/** A client, and a function that closes what is behind it. */
export interface Connection<Service> {
  client: Service;
  close(): Promise<void>;
}

/** Connects `caller` to a decorated service over a transport. */
export type Connect = <D extends ServiceDefinition>(
  definition: D,
  service: ServiceOf<D>,
  caller: string,
) => Promise<Connection<ServiceOf<D>>>;

const local =
  (crossing: Crossing): Connect =>
  async (definition, service, caller) => ({
    client: localClient(definition, service, { caller, crossing }),
    close: async () => {},
  });

/** Both ends are in one thread here: what is posted to a port is copied as between threads. */
const overPort: Connect = async (definition, service, caller) => {
  const { log } = recordingLogger();
  const { port1, port2 } = new MessageChannel();
  const server = serveThread(port1, { services: [{ definition, service }], caller, log });
  const connection = dialThread(port2, { caller });
  return {
    client: connection.client(definition),
    async close() {
      connection.close();
      await server.stop(100);
    },
  };
};

function overGrpc(address: () => string): Connect {
  return (definition, service, caller) => connectOverGrpc(definition, service, address(), { caller });
}

const overTls: Connect = async (definition, service, caller) => {
  const authority = createTestAuthority();
  const [server, client] = [authority.issue('probe'), authority.issue(caller)];
  authority.drop();
  return connectOverGrpc(definition, service, 'localhost:0', { caller, server, client });
};

async function connectOverGrpc<D extends ServiceDefinition>(
  definition: D,
  service: ServiceOf<D>,
  address: string,
  options: { caller: string; server?: Tls; client?: Tls },
): Promise<Connection<ServiceOf<D>>> {
  const { log } = recordingLogger();
  const server = await serveGrpc({ services: [{ definition, service }], address, log, tls: options.server });
  const connection = dialGrpc(server.address, { caller: options.caller, tls: options.client });
  return {
    client: connection.client(definition),
    async close() {
      connection.close();
      await server.stop(100);
    },
  };
}

/** The name, the connect function, and how many messages of 10 kB a producer may be ahead of a stalled consumer. */
export const transports: readonly (readonly [string, Connect, number])[] = [
  ['in one process', local(crossings.encoded), 2],
  ['in one process, with shared messages', local(crossings.shared), 2],
  ['in one process, with frozen messages', local(crossings.frozen), 2],
  ['in another thread', overPort, 2 * aheadMax],
  ['over gRPC', overGrpc(() => '127.0.0.1:0'), 200],
  ['over gRPC on a Unix socket', overGrpc(() => `unix:${join(tmpdir(), `${newId('t')}.sock`)}`), 200],
  ['over gRPC with mutual TLS', overTls, 200],
];

/** The transports that encode each message; the others hand over the objects themselves. */
export const encodingTransports = transports.filter(([name]) => !/shared|frozen/.test(name));
