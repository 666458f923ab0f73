// A server that dies while the event loop of its client is blocked: Node then does not notice the end of the connection.
import { afterEach, describe, expect, it } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { callContext } from '#client/call-context.js';
import { dialGrpc, type GrpcConnection } from '#client/grpc/grpc-client.js';
import type { Tls } from '#client/tls.js';
import { listen } from '../../testing/local-server.js';
import { createTestAuthority } from '../../testing/certificates.js';
import { recordingLogger } from '../../testing/log.js';
import { probe, probeService, ProbeServiceDefinition } from '../../testing/probe-service.js';
import { type GrpcServer, serveGrpc } from './grpc-server.js';

const liveMs = 700;
const stillFromMs = 300;
const stillMs = 1500;
/** The deadlines of these calls pass while the client is blocked. */
const timeouts = Array.from({ length: 100 }, (_, index) => 400 + index * 12);

// Streams messages to one call, answers none of the others, and kills itself some time after the first one.
const dyingServer = `
  const http2 = require('node:http2');
  const message = Buffer.from(JSON.stringify({ text: '', parts: [] }));
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
  let isFirst = true;
  const server = http2.createSecureServer(JSON.parse(process.env.TLS));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {}).resume();
    if (headers[':path'].endsWith('/Count')) {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      setInterval(() => stream.write(frame), 20);
    }
    if (isFirst) setTimeout(() => process.kill(process.pid, 'SIGKILL'), ${liveMs});
    isFirst = false;
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

describe('a call that ends without a status', () => {
  it('fails as unavailable, like any other call on a lost connection', async () => {
    const server = createServer().on('stream', (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      stream.end();
    });
    const connection = dialGrpc(`127.0.0.1:${await listen(server)}`, { caller: 'gateway' });
    await expect(connection.client(ProbeServiceDefinition).echo(probe(''))).rejects.toMatchObject({ reason: 'service_unavailable' });
    connection.close();
    server.close();
  });
});

describe('a client whose server died while its event loop was blocked', () => {
  const { log } = recordingLogger();
  let peer: ChildProcess | undefined;
  let connection: GrpcConnection | undefined;
  let successor: GrpcServer | undefined;

  afterEach(async () => {
    connection?.close();
    peer?.kill('SIGKILL');
    await successor?.stop(0);
  });

  async function startPeer(tls: Tls): Promise<string> {
    const env = { PATH: process.env['PATH'], TLS: JSON.stringify({ key: tls.key.toString(), cert: tls.cert.toString() }) };
    peer = spawn(process.execPath, ['-e', dyingServer], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const [port] = (await once(peer.stdout!, 'data')) as [Buffer];
    return `127.0.0.1:${port.toString().trim()}`;
  }

  it('finds the successor of the server as soon as a test of the connection fails', async () => {
    const authority = createTestAuthority();
    const tls = authority.issue('ledger');
    const address = await startPeer(tls);
    connection = dialGrpc(address, { caller: 'gateway', tls, keepaliveMs: [200, 300] });
    const client = connection.client(ProbeServiceDefinition);
    const within = (timeoutMs: number) => callContext({ caller: 'gateway', timeoutMs });
    const stream = (async () => {
      for await (const _ of client.count(probe(''), within(60_000)));
    })().catch(() => undefined);
    await sleep(100);
    const calls = timeouts.map((timeoutMs) => client.echo(probe(''), within(timeoutMs)).catch(() => undefined));
    await sleep(stillFromMs);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stillMs);
    await Promise.all([...calls, stream]);
    const services = [{ definition: ProbeServiceDefinition, service: probeService({ echo: async (request) => request }) }];
    successor = await serveGrpc({ services, address, tls, log });
    for (let attempts = 0; ; attempts += 1) {
      const isAnswered = await client.echo(probe('hello'), within(1000)).then(
        () => true,
        () => false,
      );
      if (isAnswered) break;
      expect(attempts).toBeLessThan(50);
      await sleep(100);
    }
    authority.drop();
  }, 30_000);
});
