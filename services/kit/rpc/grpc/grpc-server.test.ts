// Behaviour that only a gRPC server has: health, reflection, a graceful stop, and refused connections.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, createServer as createTlsServer, TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { type Client, credentials, loadPackageDefinition, type ServiceClientConstructor, status } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { newId } from '../../id.js';
import { createTestAuthority } from '../../testing/certificates.js';
import { listen } from '../../testing/local-server.js';
import { recordingLogger } from '../../testing/log.js';
import { probe, type ProbeService, probeService, ProbeServiceDefinition } from '../../testing/probe-service.js';
import { failureOf, untilTrue } from '../../testing/waiting.js';
import { callContext } from '#client/call-context.js';
import { AppError } from '#client/errors/app-error.js';
import { dialGrpc, type DialGrpcOptions, type GrpcConnection } from '#client/grpc/grpc-client.js';
import { freePort } from '../../testing/free-port.js';
import { type GrpcServer, serveGrpc, type ServeGrpcOptions } from './grpc-server.js';
import { checkHealth } from './health-client.js';

const context = callContext({ caller: 'gateway' });
const { log } = recordingLogger();

const closeAll: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closeAll.splice(0).reverse()) await close();
});

async function serve(methods: Partial<ProbeService>, options: Partial<ServeGrpcOptions> = {}): Promise<GrpcServer> {
  const services = [{ definition: ProbeServiceDefinition, service: probeService(methods) }];
  const server = await serveGrpc({ services, address: '127.0.0.1:0', log, ...options });
  closeAll.push(() => server.stop(0));
  return server;
}

function dial(address: string, options: Partial<DialGrpcOptions> = {}): GrpcConnection {
  const connection = dialGrpc(address, { caller: 'gateway', ...options });
  closeAll.push(() => connection.close());
  return connection;
}

/** Returns the responses of a unary or streaming method of a library's own client, which shares no code with ours. */
function foreignClient(address: string, Constructor: ServiceClientConstructor): Client & Record<string, (...args: unknown[]) => unknown> {
  const client = new Constructor(address, credentials.createInsecure());
  closeAll.push(() => client.close());
  return client as unknown as Client & Record<string, (...args: unknown[]) => unknown>;
}

const HealthClient = loadPackageDefinition({ Health: healthService })['Health'] as ServiceClientConstructor;

function health(address: string, service: string): Promise<string> {
  const client = foreignClient(address, HealthClient);
  return new Promise((resolve, reject) => {
    client['check']!({ service }, (error: Error | null, answer: { status: string }) =>
      error === null ? resolve(answer.status) : reject(error),
    );
  });
}

describe('health', () => {
  it('is reported for each service and for the server as a whole', async () => {
    const server = await serve({});
    expect(await health(server.address, '')).toBe('NOT_SERVING');
    server.setServing(true);
    expect([await health(server.address, ''), await health(server.address, 'tollgate.test.v1.ProbeService')]).toEqual([
      'SERVING',
      'SERVING',
    ]);
    server.setServing(false);
    expect(await health(server.address, 'tollgate.test.v1.ProbeService')).toBe('NOT_SERVING');
    server.setServing(true, ['tollgate.test.v1.OtherService']);
    expect([await health(server.address, ''), await health(server.address, 'tollgate.test.v1.ProbeService')]).toEqual([
      'NOT_SERVING',
      'SERVING',
    ]);
  });

  it('is sent to watchers at every change, and ends with the server', async () => {
    const server = await serve({});
    server.setServing(true);
    const watch = foreignClient(server.address, HealthClient)['watch']!({ service: '' }) as AsyncIterable<{ status: string }>;
    const seen: string[] = [];
    await expect(
      (async () => {
        for await (const { status } of watch) {
          seen.push(status);
          if (seen.length < 3) server.setServing(status !== 'SERVING');
          else void server.stop(10_000);
        }
      })(),
    ).rejects.toMatchObject({ code: status.UNAVAILABLE });
    expect(seen).toEqual(['SERVING', 'NOT_SERVING', 'SERVING']);
  });
});

describe('stopping', () => {
  it('lets a call in flight finish, and accepts no new one', async () => {
    const begun = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const server = await serve({
      async echo(request) {
        begun.resolve();
        await finish.promise;
        return request;
      },
    });
    const underWay = dial(server.address).client(ProbeServiceDefinition).echo(probe('late'), context);
    await begun.promise;
    const stopped = server.stop(5000);
    await expect(dial(server.address).client(ProbeServiceDefinition).echo(probe('new'), context)).rejects.toMatchObject({
      reason: 'service_unavailable',
    });
    finish.resolve();
    expect(await underWay).toEqual(probe('late'));
    await stopped;
  });

  it('lets streams finish while connections are tested', async () => {
    const count = 40;
    const methods: Partial<ProbeService> = {
      async *count() {
        for (let sent = 0; sent < count; sent += 1) {
          await sleep(10);
          yield probe(String(sent));
        }
      },
    };
    const read = async (keepaliveMs: Pick<ServeGrpcOptions & DialGrpcOptions, 'keepaliveMs'>, ofClient: typeof keepaliveMs) => {
      const server = await serve(methods, keepaliveMs);
      let stopped: Promise<void> | undefined;
      let received = 0;
      for await (const _ of dial(server.address, ofClient).client(ProbeServiceDefinition).count(probe(''), context)) {
        stopped ??= server.stop(10_000);
        received += 1;
      }
      await stopped;
      return received;
    };
    const often = { keepaliveMs: [30, 5000] } as const;
    expect(await read(often, {})).toBe(count);
    expect(await read({}, often)).toBe(count);
  });

  it('lets callers read a stream to its end, however slowly', async () => {
    const count = 60;
    const tls = createTestAuthority().issue('gateway');
    const methods: Partial<ProbeService> = {
      async *count() {
        for (let sent = 0; sent < count; sent += 1) yield probe(String(sent));
      },
    };
    const server = await serve(methods, { tls });
    let stopped: Promise<void> | undefined;
    let received = 0;
    for await (const _ of dial(server.address, { tls }).client(ProbeServiceDefinition).count(probe(''), context)) {
      stopped ??= server.stop(10_000);
      received += 1;
      await sleep(5);
    }
    expect(received).toBe(count);
    await stopped;
  });

  it('ends watches immediately instead of waiting for them', async () => {
    const server = await serve({
      async *watchTicks(_, callee) {
        yield probe('first');
        await new Promise((resolve) => callee!.signal.addEventListener('abort', resolve));
      },
    });
    const iterator = dial(server.address).client(ProbeServiceDefinition).watchTicks(probe(''), context)[Symbol.asyncIterator]();
    await iterator.next();
    const startMs = performance.now();
    const ended = expect(iterator.next()).rejects.toMatchObject({ reason: 'service_unavailable' });
    await server.stop(5000);
    await ended;
    expect(performance.now() - startMs).toBeLessThan(2000);
  });

  it('aborts calls that do not finish in time, as unavailable', async () => {
    const server = await serve({ echo: () => new Promise(() => {}) });
    const call = dial(server.address).client(ProbeServiceDefinition).echo(probe(''), context);
    const cutOff = expect(call).rejects.toMatchObject({ reason: 'service_unavailable' });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await server.stop(50);
    await cutOff;
  });
});

describe('a connection that its peer neither uses nor closes', () => {
  it.each(['plain', 'encrypted'])('does not keep the server from stopping, %s', async (kind) => {
    const authority = createTestAuthority();
    closeAll.push(() => authority.drop());
    const tls = kind === 'plain' ? {} : { address: 'localhost:0', tls: authority.issue('ledger') };
    const server = await serve({}, tls);
    // It is not read, and so does not notice that the server has closed it.
    const idle = connect(server.port, 'localhost');
    closeAll.push(() => void idle.destroy());
    await once(idle, 'connect');
    const stopped = server.stop(200).then(() => 'stopped');
    expect(await Promise.race([stopped, sleep(4000, 'waiting', { ref: false })])).toBe('stopped');
  });
});

describe('a connection that was being opened when the server began to stop', () => {
  it('is closed with its first call, and ends a watch immediately', async () => {
    const authority = createTestAuthority();
    closeAll.push(() => authority.drop());
    const server = await serve(
      {
        async *watchTicks(_, callee) {
          yield probe('1');
          await once(callee!.signal, 'abort');
        },
      },
      { address: 'localhost:0', tls: authority.issue('ledger') },
    );
    const socket = connect(server.port, 'localhost');
    closeAll.push(() => void socket.destroy());
    await once(socket, 'connect');
    const stopped = server.stop(10_000).then(() => 'stopped');
    const { ca, cert, key } = authority.issue('gateway');
    const secure = connectTls({ socket, ca, cert, key, servername: 'localhost', ALPNProtocols: ['h2'] });
    await once(secure, 'secureConnect');
    const session = connectHttp2('https://localhost', { createConnection: () => secure });
    const goaway = once(session, 'goaway');
    const stream = session.request({
      ':method': 'POST',
      ':path': `/${ProbeServiceDefinition.fullName}/WatchTicks`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const body = Buffer.from(JSON.stringify(probe('late')));
    stream.end(Buffer.concat([Buffer.of(0, 0, 0, 0, body.length), body]));
    stream.resume();
    // Without a message, the status is in the headers.
    expect(await once(stream, 'response')).toMatchObject([
      { 'grpc-status': String(status.UNAVAILABLE) },
      expect.anything(),
      expect.anything(),
    ]);
    await goaway;
    expect(await Promise.race([stopped, sleep(4000, 'waiting', { ref: false })])).toBe('stopped');
  });
});

describe('an address', () => {
  it('that other machines can reach is refused without certificates', async () => {
    await expect(serve({}, { address: '0.0.0.0:0' })).rejects.toThrow('TOLLGATE_TLS_CA');
    await expect(serve({}, { address: '0.0.0.0:0', trustNetwork: true })).resolves.toBeDefined();
  });

  it('of a Unix socket is accessible only to its owner, and is taken over from a killed process', async () => {
    const path = join(tmpdir(), `${newId('t')}.sock`);
    closeAll.push(() => rmSync(path, { force: true }));
    const listenAndDie = `require('node:net').createServer().listen('${path}', () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', listenAndDie]);
    expect(existsSync(path)).toBe(true);
    const server = await serve({ echo: async (request) => request }, { address: `unix:${path}` });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await dial(server.address).client(ProbeServiceDefinition).echo(probe('hi'), context)).toEqual(probe('hi'));
    await expect(serve({}, { address: `unix:${path}` })).rejects.toThrow('Another process listens');
    expect(await dial(server.address).client(ProbeServiceDefinition).echo(probe('still'), context)).toEqual(probe('still'));
  });

  it('of a file that is not a socket is refused, and the file is kept', async () => {
    const path = join(tmpdir(), `${newId('t')}.txt`);
    closeAll.push(() => rmSync(path, { force: true }));
    writeFileSync(path, 'precious');
    await expect(serve({}, { address: `unix:${path}` })).rejects.toThrow('another kind');
    expect(existsSync(path)).toBe(true);
  });
});

describe('a caller', () => {
  it('whose certificate has no name may check the health, and call nothing else', async () => {
    const authority = createTestAuthority();
    closeAll.push(() => authority.drop());
    const server = await serve({ echo: async (request) => request }, { tls: authority.issue('server') });
    const nameless = authority.issue('');
    const connection = dialGrpc(server.address.replace('127.0.0.1', 'localhost'), { caller: 'gateway', tls: nameless });
    closeAll.push(() => connection.close());
    server.setServing(true);
    await checkHealth(connection, '', { caller: 'gateway', timeoutMs: 5000 });
    await expect(connection.client(ProbeServiceDefinition).echo(probe('hi'), context)).rejects.toMatchObject({
      reason: 'peer_not_permitted',
    });
  });

  it('sends no IP address as the TLS server name, and accepts only a certificate that has the IP address', async () => {
    const authority = createTestAuthority();
    closeAll.push(() => authority.drop());
    const [tls, own] = [authority.issue('ledger'), authority.issue('gateway')];
    const names: unknown[] = [];
    const observing = createTlsServer({ ...tls, ALPNProtocols: ['h2'] }, (socket) => {
      names.push((socket as TLSSocket & { servername?: unknown }).servername);
      socket.destroy();
    });
    const port = await listen(observing);
    closeAll.push(() => void observing.close());
    const echo = (address: string): Promise<string> =>
      dial(address, { tls: own })
        .client(ProbeServiceDefinition)
        .echo(probe('hi'), callContext({ caller: 'gateway', timeoutMs: 3000 }))
        .then(({ text }) => text, String);
    await echo(`ipv4:127.0.0.1:${port}`);
    expect(names).toContain('localhost');
    expect(names).not.toContain('127.0.0.1');
    for (const [host, outcome] of [
      ['127.0.0.1', 'hi'],
      ['127.0.0.2', expect.stringContaining('AppError')],
    ] as const) {
      const server = await serve({ echo: async (request) => request }, { address: `${host}:0`, tls });
      expect(await echo(`ipv4:${server.address}`)).toEqual(outcome);
      expect(await echo(server.address)).toEqual(outcome);
    }
  });

  it('without a certificate is not admitted under TLS', async () => {
    const authority = createTestAuthority();
    closeAll.push(() => authority.drop());
    const server = await serve({ echo: async (request) => request }, { address: 'localhost:0', tls: authority.issue('ledger') });
    const stranger = createTestAuthority();
    closeAll.push(() => stranger.drop());
    const forged = { ...stranger.issue('gateway'), ca: authority.issue('gateway').ca };
    for (const connection of [dial(server.address), dial(server.address, { tls: forged })]) {
      await expect(
        connection.client(ProbeServiceDefinition).echo(probe(''), callContext({ caller: 'gateway', timeoutMs: 2000 })),
      ).rejects.toMatchObject({
        reason: expect.stringMatching(/service_unavailable|deadline_exceeded/),
      });
    }
  });
});

describe('the certificate of a connection', () => {
  it('is read once, not at every call', async () => {
    const authority = createTestAuthority();
    closeAll.push(() => authority.drop());
    const server = await serve(
      { echo: async (_, callee) => probe(callee!.caller) },
      { address: 'localhost:0', tls: authority.issue('ledger') },
    );
    const reads = jest.spyOn(TLSSocket.prototype, 'getPeerCertificate');
    closeAll.push(() => reads.mockRestore());
    const callers = new Set<string>();
    for (const name of ['gateway', 'metering']) {
      const client = dial(server.address, { tls: authority.issue(name) }).client(ProbeServiceDefinition);
      for (let calls = 0; calls < 20; calls += 1) callers.add((await client.echo(probe(''), context)).text);
    }
    expect([...callers]).toEqual(['gateway', 'metering']);
    // Of 40 calls over 2 connections; opening a connection reads the certificate once or twice at each end.
    expect(reads.mock.calls.length).toBeLessThan(10);
  });
});

describe('an error', () => {
  it.each([
    ['ends with half of an emoji', 'cut: 😀'.slice(0, -1), 'cut: \ufffd'],
    ['is far too long for a header', '長'.repeat(100_000), '長'.repeat(1024)],
  ])('reaches its caller and no other if its message %s', async (_name, sent, received) => {
    const refuse = (): never => {
      throw new AppError('not_found', sent);
    };
    const finish = Promise.withResolvers<void>();
    const server = await serve({
      async echo(request) {
        if (request.text === 'refused') refuse();
        await finish.promise;
        return request;
      },
      async *count() {
        yield probe('first');
        refuse();
      },
    });
    const client = dial(server.address).client(ProbeServiceDefinition);
    const other = client.echo(probe('other'), context);
    const error = { reason: 'not_found', message: received };
    await expect(client.echo(probe('refused'), callContext({ caller: 'gateway', timeoutMs: 5000 }))).rejects.toMatchObject(error);
    const responses = client.count(probe(''), callContext({ caller: 'gateway', timeoutMs: 5000 }))[Symbol.asyncIterator]();
    await responses.next();
    await expect(responses.next()).rejects.toMatchObject(error);
    finish.resolve();
    expect(await other).toEqual(probe('other'));
  });
});

describe('a server that is not running', () => {
  it('is unavailable immediately', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const startMs = performance.now();
    await expect(dial(address).client(ProbeServiceDefinition).echo(probe(''), context)).rejects.toMatchObject({
      reason: 'service_unavailable',
    });
    expect(performance.now() - startMs).toBeLessThan(2000);
  });

  it('is retried for idempotent methods until it is running', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const client = dial(address, { attempts: 8 }).client(ProbeServiceDefinition);
    const answer = client.echo(probe('patience'), callContext({ caller: 'gateway', timeoutMs: 10_000 }));
    await new Promise((resolve) => setTimeout(resolve, 200));
    await serve({ echo: async (request) => request }, { address });
    expect(await answer).toEqual(probe('patience'));
  });
});

describe('a connection that is closed', () => {
  it('cancels its calls in flight, and refuses further calls', async () => {
    const aborted: string[] = [];
    const untilAborted = (text: string, signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(void aborted.push(text))));
    const begun = Promise.withResolvers<void>();
    const server = await serve({
      async echo(request, callee) {
        await untilAborted('echo', callee!.signal);
        return request;
      },
      async *watchTicks(_, callee) {
        yield probe('1');
        begun.resolve();
        await untilAborted('watch', callee!.signal);
      },
    });
    const connection = dialGrpc(server.address, { caller: 'gateway', attempts: 3 });
    const client = connection.client(ProbeServiceDefinition);
    const watched = (async () => {
      for await (const _tick of client.watchTicks(probe(''), context));
    })();
    const failures = Promise.all([failureOf(client.echo(probe(''), context)), failureOf(watched)]);
    await begun.promise;
    connection.close();
    const timeLimit = sleep(3000, 'still in flight', { ref: false });
    expect(await Promise.race([failures, timeLimit])).toMatchObject([{ reason: 'cancelled' }, { reason: 'cancelled' }]);
    await untilTrue(() => aborted.length === 2);
    expect(aborted.toSorted()).toEqual(['echo', 'watch']);
    expect(await failureOf(client.echo(probe(''), context))).toMatchObject({ reason: 'cancelled' });
    await expect(client.watchTicks(probe(''), context)[Symbol.asyncIterator]().next()).rejects.toMatchObject({ reason: 'cancelled' });
  });
});

describe('a call without a deadline of its own', () => {
  it('ends at the deadline of its connection, with all of its attempts', async () => {
    let attempts = 0;
    const server = await serve({
      async echo() {
        attempts += 1;
        await sleep(600);
        throw new AppError('service_unavailable', 'The replica ends.');
      },
    });
    const client = dial(server.address, { attempts: 3, timeoutMs: 1000 }).client(ProbeServiceDefinition);
    const beganAtMs = performance.now();
    expect(await failureOf(client.echo(probe('')))).toMatchObject({ reason: 'deadline_exceeded' });
    expect(performance.now() - beganAtMs).toBeLessThan(1700);
    expect(attempts).toBe(2);
  });
});
