import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createLogger } from '../log.js';
import { dialGrpc, type GrpcConnection } from '#client/grpc/grpc-client.js';
import { type GrpcServer, serveGrpc } from './grpc-server.js';
import { checkHealth } from './health-client.js';

const options = { caller: 'operator', timeoutMs: 2000 };
let server: GrpcServer;
let connection: GrpcConnection;

beforeEach(async () => {
  server = await serveGrpc({ services: [], address: '127.0.0.1:0', log: createLogger({ name: 'test', level: 'silent' }) });
  connection = dialGrpc(server.address, options);
});

afterEach(async () => {
  connection.close();
  await server.stop(0);
});

it('succeeds for a server that serves and fails for one that does not', async () => {
  await checkHealth(connection, '', options);
  server.setServing(false);
  await expect(checkHealth(connection, '', options)).rejects.toMatchObject({
    reason: 'service_unavailable',
    message: 'The server answers, but is not ready.',
  });
});

it('fails for an unknown service', async () => {
  await expect(checkHealth(connection, 'test.v1.Whistle', options)).rejects.toThrow();
});

it('fails for a server that cannot be reached', async () => {
  await server.stop(0);
  await expect(checkHealth(connection, '', options)).rejects.toMatchObject({ reason: 'service_unavailable' });
});
