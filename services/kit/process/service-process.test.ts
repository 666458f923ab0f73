// How a process starts and stops, observed from outside: by its exit status, its health and its peers.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { integer } from '../config/settings.js';
import { newId } from '../id.js';
import type { ServiceModule } from '../lifecycle.js';
import { callContext } from '#client/call-context.js';
import { dialGrpc, type GrpcConnection } from '#client/grpc/grpc-client.js';
import { checkHealth } from '../rpc/grpc/health-client.js';
import { offer, runService } from './service-process.js';
import { probeAccess } from '../testing/access.js';
import { probe, type ProbeService, probeService, ProbeServiceDefinition } from '../testing/probe-service.js';

const settings = { size: integer('TOLLGATE_PROBE_SIZE', 'a size', { min: 1, max: 9, default: 1 }) };
const signals = ['SIGTERM', 'SIGINT', 'uncaughtException', 'unhandledRejection'] as const;

let exited: { promise: Promise<number>; resolve(status: number): void };
let printed = '';
let fail: (error: unknown) => void;
let connection: GrpcConnection;
let socket: string;

beforeEach(() => {
  exited = Promise.withResolvers<number>();
  printed = '';
  socket = join(tmpdir(), `${newId('t')}.sock`);
  connection = dialGrpc(`unix:${socket}`, { caller: 'gateway' });
  // Code that would run after the process has ended fails by itself, because what it needs was never created.
  jest.spyOn(process, 'exit').mockImplementation((status) => exited.resolve(Number(status)) as never);
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});

afterEach(() => {
  connection.close();
  jest.restoreAllMocks();
  for (const signal of signals) process.removeAllListeners(signal);
});

/** Runs a probe service as a process and records the events of its module. */
async function run(
  service: Partial<ProbeService>,
  options: { env?: Record<string, string>; ready?: ServiceModule<ProbeService>['ready']; start?: () => Promise<void> } = {},
): Promise<string[]> {
  const events: string[] = [];
  const module: ServiceModule<ProbeService> = {
    name: 'probe',
    service: probeService(service),
    ready: options.ready ?? (async () => ({ ok: true })),
    start: options.start ?? (async () => void events.push('started')),
    stop: async () => void events.push('stopped'),
  };
  const database = { name: 'database', start: async () => void events.push('opened'), stop: async () => void events.push('closed') };
  await runService(
    {
      name: 'probe',
      settings,
      listen: `unix:${socket}`,
      access: probeAccess(),
      build(_, host) {
        ({ fail } = host);
        return { parts: [database, module], offers: [offer(ProbeServiceDefinition, module)] };
      },
    },
    { TOLLGATE_LOG_LEVEL: 'silent', TOLLGATE_LAME_DUCK: '0s', ...options.env },
  );
  return events;
}

const health = (): Promise<string> =>
  checkHealth(connection, ProbeServiceDefinition.fullName, { caller: 'gateway', timeoutMs: 2000 }).then(
    () => 'serving',
    () => 'not serving',
  );

describe('a service process', () => {
  it('serves, and on SIGTERM lets the call in flight finish before its parts stop', async () => {
    const begun = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const events = await run({
      async echo(request) {
        begun.resolve();
        await finish.promise;
        events.push('answered');
        return request;
      },
    });
    expect(await health()).toBe('serving');
    const underWay = connection.client(ProbeServiceDefinition).echo(probe('last'), callContext({ caller: 'gateway' }));
    await begun.promise;
    process.emit('SIGTERM');
    finish.resolve();
    expect(await underWay).toEqual(probe('last'));
    expect(await exited.promise).toBe(0);
    expect(events).toEqual(['opened', 'started', 'answered', 'stopped', 'closed']);
  });

  it('is not healthy while its module is not ready', async () => {
    let state: { ok: true } | { ok: false; why: string } = { ok: false, why: 'the database is unavailable' };
    await run({}, { ready: async () => state });
    await eventually(health, 'not serving');
    state = { ok: true };
    await eventually(health, 'serving');
    process.emit('SIGTERM');
    expect(await exited.promise).toBe(0);
  });

  it('still serves for a while after SIGTERM, and reports that it is not healthy', async () => {
    const events = await run({ echo: async (request) => request }, { env: { TOLLGATE_LAME_DUCK: '3s' } });
    expect(await health()).toBe('serving');
    process.emit('SIGTERM', 'SIGTERM');
    expect(await health()).toBe('not serving');
    expect(await connection.client(ProbeServiceDefinition).echo(probe('late'), callContext({ caller: 'gateway' }))).toEqual(probe('late'));
    expect(events).toEqual(['opened', 'started']);
    expect(await exited.promise).toBe(0);
    expect(events).toEqual(['opened', 'started', 'stopped', 'closed']);
  });

  it('does not wait after SIGINT', async () => {
    await run({}, { env: { TOLLGATE_LAME_DUCK: '10m' } });
    process.emit('SIGINT', 'SIGINT');
    expect(await exited.promise).toBe(0);
  });

  it('keeps draining if the signal is repeated immediately, and stops at a later one', async () => {
    await run({}, { env: { TOLLGATE_LAME_DUCK: '10m' } });
    process.emit('SIGTERM', 'SIGTERM');
    process.emit('SIGTERM', 'SIGTERM');
    expect(process.exit).not.toHaveBeenCalled();
    await new Promise((resolve) => setTimeout(resolve, 600));
    process.emit('SIGTERM', 'SIGTERM');
    expect(await exited.promise).toBe(1);
  });

  it('stops in order after a failure, as after SIGINT, with a status that has it restarted', async () => {
    const events = await run({}, { env: { TOLLGATE_LAME_DUCK: '10m' } });
    fail(new Error('EIO: i/o error, fdatasync'));
    // A load balancer's health check or an operator may react to the failure too.
    process.emit('SIGTERM', 'SIGTERM');
    expect(await exited.promise).toBe(1);
    expect(events).toEqual(['opened', 'started', 'stopped', 'closed']);
  });

  it('ends immediately after a failure during its start', async () => {
    const starting = Promise.withResolvers<void>();
    void run(
      {},
      {
        start() {
          starting.resolve();
          return new Promise(() => undefined);
        },
      },
    );
    await starting.promise;
    fail(new Error('EIO: i/o error, fdatasync'));
    expect(await exited.promise).toBe(1);
  });

  it('does not start with an invalid configuration, and prints every fault', async () => {
    await expect(run({}, { env: { TOLLGATE_PROBE_SIZE: '12', TOLLGATE_PROBE_LISTNE: 'x', TOLLGATE_TLS_CA: '' } })).rejects.toThrow();
    expect(await exited.promise).toBe(1);
    expect(printed).toContain('TOLLGATE_PROBE_SIZE must be a whole number from 1 to 9 (it is "12")');
    expect(printed).toContain('did you mean TOLLGATE_PROBE_LISTEN?');
  });

  it('does not start with only some of its certificate files', async () => {
    await expect(run({}, { env: { TOLLGATE_TLS_CERT: 'cert.pem' } })).rejects.toThrow();
    expect(await exited.promise).toBe(1);
    expect(printed).toContain('must be set together');
  });

  const file = fileURLToPath(import.meta.url);
  it.each([
    ['a folder', tmpdir(), 'EISDIR'],
    ['not a certificate', file, ''],
  ])('does not start with a certificate file that is %s, and names it', async (_, path, why) => {
    const env = { TOLLGATE_TLS_CA: file, TOLLGATE_TLS_CERT: path, TOLLGATE_TLS_KEY: file };
    await expect(run({}, { env })).rejects.toThrow();
    expect(await exited.promise).toBe(1);
    expect(printed).toContain(`A file of TOLLGATE_TLS_CA, TOLLGATE_TLS_CERT or TOLLGATE_TLS_KEY cannot be used: ${path}: ${why}`);
  });

  it.each(['LISTEN', 'HEALTH_LISTEN'])('does not start if the address of %s is in use, and names the setting', async (name) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    const env = { [`TOLLGATE_PROBE_${name}`]: address };
    expect(await run({}, { env })).toEqual(['opened', 'started', 'stopped', 'closed']);
    other.close();
    expect(await exited.promise).toBe(1);
    expect(printed).toBe(
      `Could not start: gRPC cannot be served at ${address}: listen EADDRINUSE: address already in use ${address}. ` +
        `Set TOLLGATE_PROBE_${name} to another address.\n`,
    );
  });

  it('does not start if it cannot serve its metrics', async () => {
    // An address for documentation, which no machine has.
    expect(await run({}, { env: { TOLLGATE_PROBE_METRICS_LISTEN: '192.0.2.1:9464' } })).toEqual([]);
    expect(await exited.promise).toBe(1);
    expect(printed).toMatch(
      /^Could not start: Metrics cannot be served at 192\.0\.2\.1:9464: .*\. Set TOLLGATE_PROBE_METRICS_LISTEN to another address\.\n$/,
    );
  });

  it('does not start if a database cannot be written to, and says what to do', async () => {
    const full = Object.assign(new Error('insert into `thing` - disk I/O error'), { code: 'SQLITE_IOERR_WRITE' });
    expect(await run({}, { start: () => Promise.reject(full) })).toEqual(['opened', 'closed']);
    expect(await exited.promise).toBe(1);
    expect(printed).toMatch(/^Could not start: A database cannot be written to \(SQLITE_IOERR_WRITE\); free up space on its disk/);
  });

  it('reports settings that depend on each other together with all others', async () => {
    const env = { TOLLGATE_TLS_CERT: 'cert.pem', TOLLGATE_PROBE_METRICS_LISTEN: 'nowhere', TOLLGATE_PROBE_LISTEN: 'nowhere' };
    await expect(run({}, { env })).rejects.toThrow();
    expect(await exited.promise).toBe(1);
    expect(printed).toContain('has 3 faults');
    expect(printed).toContain('TOLLGATE_PROBE_METRICS_LISTEN must be host:port');
    expect(printed).toContain('TOLLGATE_PROBE_LISTEN must be host:port, such as 127.0.0.1:7103, or unix:/path');
    expect(printed).toContain('must be set together');
  });
});

async function eventually(read: () => Promise<string>, wanted: string): Promise<void> {
  for (let tries = 0; tries < 50; tries += 1) {
    if ((await read()) === wanted) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(await read()).toBe(wanted);
}
