import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dialGrpc, type GrpcConnection } from '#client/grpc/grpc-client.js';
import { readTls } from '#client/tls.js';
import { silentLog as log } from '../../testing/log.js';
import { probe as aProbe, ProbeServiceDefinition } from '../../testing/probe-service.js';
import { ensureCertificate } from '../../tls/certificate-files.js';
import { type GrpcServer, serveGrpc } from './grpc-server.js';
import { checkHealth } from './health-client.js';

const options = { caller: 'operator', timeoutMs: 2000 };
let server: GrpcServer;
let connection: GrpcConnection;

beforeEach(async () => {
  server = await serveGrpc({ services: [], address: '127.0.0.1:0', log });
  connection = dialGrpc(server.address, options);
});

afterEach(async () => {
  connection.close();
  await server.stop(0);
});

it('succeeds for a server that serves and fails for one that does not', async () => {
  const refusal = { reason: 'service_unavailable', message: 'The server answers, but is not ready.' };
  await expect(checkHealth(connection, '', options)).rejects.toMatchObject(refusal);
  server.setServing(true);
  await checkHealth(connection, '', options);
  server.setServing(false);
  await expect(checkHealth(connection, '', options)).rejects.toMatchObject(refusal);
});

it('succeeds for liveness while the process responds, even if it does not serve', async () => {
  server.setServing(false);
  await checkHealth(connection, 'liveness', options);
});

it('of a server with mutual TLS succeeds without a certificate at the address for probes, where nothing else is served', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  const probePath = `unix:${join(folder, 'health')}`;
  const { ca, cert, key } = await ensureCertificate(folder, 'ledger', { isClient: true, hosts: ['localhost'] });
  const guarded = await serveGrpc({ services: [], address: '127.0.0.1:0', healthAddress: probePath, tls: readTls({ ca, cert, key }), log });
  const [probe, unknown] = [dialGrpc(probePath, options), dialGrpc(guarded.address, options)];
  try {
    guarded.setServing(true);
    await checkHealth(probe, '', options);
    await expect(checkHealth(unknown, '', { ...options, timeoutMs: 300 })).rejects.toThrow();
    guarded.setServing(false);
    await expect(checkHealth(probe, '', options)).rejects.toMatchObject({ reason: 'service_unavailable' });
    await expect(probe.client(ProbeServiceDefinition).echo(aProbe('x'))).rejects.toMatchObject({ reason: 'unimplemented' });
  } finally {
    probe.close();
    unknown.close();
    await guarded.stop(0);
    rmSync(folder, { recursive: true });
  }
});

it('fails for an unknown service', async () => {
  await expect(checkHealth(connection, 'test.v1.Whistle', options)).rejects.toThrow();
});

it('fails for a server that cannot be reached', async () => {
  await server.stop(0);
  await expect(checkHealth(connection, '', options)).rejects.toMatchObject({ reason: 'service_unavailable' });
});
