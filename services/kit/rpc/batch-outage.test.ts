// Batched calls while servers come and go: every call gets a result.
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerServiceDefinition, type LedgerService, ReleaseResponse } from '#proto/ledger/v1/ledger.js';
import { type BatchedLedger, type BatchedMethods, batchedNames, batchedService } from '../testing/batched-service.js';
import { type LogLine, recordingLogger } from '../testing/log.js';
import { eventually, failureOf, untilTrue } from '../testing/waiting.js';
import { batchClient } from '#client/batch/batch-client.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { connect } from '#client/connect.js';
import { dialGrpc } from '#client/grpc/grpc-client.js';
import { freePort } from '../testing/free-port.js';
import { type GrpcServer, serveGrpc } from './grpc/grpc-server.js';

const echoing: LedgerService['release'] = async ({ holdId }) => ReleaseResponse.fromPartial({ hold: { id: holdId } });
const context = (timeoutMs = 5000): CallContext => callContext({ caller: 'gateway', timeoutMs });
const stuck = (): Promise<never> => new Promise(() => {});

const closeAll: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closeAll.splice(0).reverse()) await close();
});

async function serve(methods: BatchedMethods, port = 0): Promise<GrpcServer> {
  const { log } = recordingLogger();
  const server = await serveGrpc({
    services: [{ definition: LedgerServiceDefinition, service: batchedService(methods).service }],
    address: `127.0.0.1:${port}`,
    log,
  });
  closeAll.push(() => server.stop(0));
  return server;
}

function dial(address: string, options: { renewMs?: number } = {}): { client: BatchedLedger; lines: LogLine[] } {
  const connection = dialGrpc(address, { caller: 'gateway' });
  const { log, lines } = recordingLogger();
  const { client, close } = batchClient(LedgerServiceDefinition, connection.client(LedgerServiceDefinition), {
    method: 'batch',
    operations: batchedNames,
    caller: 'gateway',
    log,
    ...options,
  });
  closeAll.push(() => {
    close();
    connection.close();
  });
  return { client, lines };
}

const replicas = (...servers: GrpcServer[]): string => `ipv4:${servers.map(({ address }) => address).join(',')}`;

/** Calls continuously until it is stopped, and counts the outcomes by reason. */
function load(client: BatchedLedger, callers: number): { end(): Promise<Map<string, number>> } {
  let isResult = false;
  const results = new Map<string, number>();
  const note = (result: string): void => void results.set(result, (results.get(result) ?? 0) + 1);
  const one = async (caller: number): Promise<void> => {
    for (let call = 0; !isResult; call += 1) {
      const holdId = `${caller}.${call}`;
      await client.release({ holdId, accountId: '' }, context()).then(
        ({ hold }) => note(hold!.id === holdId ? 'ok' : 'another’s answer'),
        (error: { reason: string }) => note(error.reason),
      );
      await sleep(1);
    }
  };
  const all = Promise.all(Array.from({ length: callers }, (_, caller) => one(caller)));
  return {
    async end() {
      isResult = true;
      await all;
      return results;
    },
  };
}

describe('a stream that breaks', () => {
  it('fails every call on it immediately with an unknown result, and is opened again for the next call', async () => {
    let begun = 0;
    const first = await serve({
      release: () => {
        begun += 1;
        return stuck();
      },
    });
    const { client, lines } = dial(first.address);
    // Long before their deadlines.
    const calls = [1, 2, 3].map((id) => failureOf(client.release({ holdId: String(id), accountId: '' }, context(600_000))));
    await untilTrue(() => begun === 3);
    await first.stop(0);
    for (const error of await Promise.all(calls))
      expect(error).toMatchObject({ reason: 'service_unavailable', message: expect.stringContaining('result is unknown') });
    await serve({ release: echoing }, first.port);
    await eventually(() => client.release({ holdId: 'again', accountId: '' }, context()).catch(() => undefined));
    expect((await client.release({ holdId: 'and again', accountId: '' }, context())).hold!.id).toBe('and again');
    expect(lines.map(({ msg }) => msg)).toEqual([
      'the stream of operations broke and will be opened again',
      'the stream of operations is open again',
    ]);
  });

  it('makes a client that retries send its idempotent calls to another replica', async () => {
    let first: number | undefined;
    const replica = (index: number): BatchedMethods => ({
      release: (request) => {
        first ??= index;
        return first === index ? stuck() : echoing(request);
      },
    });
    const servers = [await serve(replica(0)), await serve(replica(1))];
    const tollgate = connect({ address: replicas(...servers), caller: 'gateway', batch: true });
    closeAll.push(tollgate.close);
    const call = tollgate.ledger.release({ holdId: 'again' });
    await untilTrue(() => first !== undefined);
    await servers[first!]!.stop(0);
    expect((await call).hold!.id).toBe('again');
  });

  it('does not keep callers past their deadlines while no server is running', async () => {
    const { client } = dial(`127.0.0.1:${await freePort()}`);
    for (let call = 0; call < 20; call += 1) {
      const startMs = performance.now();
      expect(await failureOf(client.release({ holdId: '1', accountId: '' }, context(1500)))).toMatchObject({
        reason: expect.stringMatching(/service_unavailable|deadline_exceeded/),
      });
      expect(performance.now() - startMs).toBeLessThan(10_000);
    }
  });
});

describe('a client that was closed', () => {
  it('fails batched calls immediately, like all others', async () => {
    const server = await serve({ release: echoing });
    const tollgate = connect({ address: server.address, caller: 'gateway', batch: true });
    const call = () => tollgate.ledger.release({ holdId: '1' }, context(3000));
    await call();
    tollgate.close();
    // Immediately, and after the stream has ended.
    expect(await failureOf(call())).toMatchObject({ reason: 'cancelled' });
    expect(await failureOf(call())).toMatchObject({ reason: 'cancelled' });
  });
});

describe('a replica that hangs', () => {
  it('keeps a call without a deadline no longer than the connection allows', async () => {
    const server = await serve({ release: stuck });
    const tollgate = connect({ address: server.address, caller: 'gateway', batch: true, timeoutMs: 100 });
    closeAll.push(tollgate.close);
    expect(await failureOf(tollgate.ledger.release({ holdId: '1' }))).toMatchObject({ reason: 'deadline_exceeded' });
  });

  it('is replaced by another one once a call on it has timed out, even if the wall clock was set back', async () => {
    const dateNow = Date.now;
    let setBackMs = 0;
    const timeOfDay = jest.spyOn(Date, 'now').mockImplementation(() => dateNow() - setBackMs);
    closeAll.push(() => timeOfDay.mockRestore());
    // The replica that is called first hangs from then on.
    let hanging: number | undefined;
    const replica = (index: number): BatchedMethods => ({
      release: (request) => {
        hanging ??= index;
        if (hanging !== index) return echoing(request);
        setBackMs += 3_600_000;
        return stuck();
      },
    });
    const { client } = dial(replicas(await serve(replica(0)), await serve(replica(1))));
    const call = (timeoutMs: number): Promise<string> =>
      client.release({ holdId: '1', accountId: '' }, context(timeoutMs)).then(
        () => 'ok',
        (error: { reason: string }) => error.reason,
      );
    expect(await call(100)).toBe('deadline_exceeded');
    // A timeout this short does not mean that the replica is unavailable.
    expect(await call(100)).toBe('deadline_exceeded');
    expect(await call(1500)).toBe('deadline_exceeded');
    // grpc-js may give the second stream to the first replica too; the third goes to the other.
    const results = [await call(1500), await call(1500)];
    expect(results).toContain('ok');
    expect(await call(1500)).toBe('ok');
  });
});

describe('a server that stops gracefully', () => {
  it('fails no call while another replica serves', async () => {
    const servers = [await serve({ release: echoing }), await serve({ release: echoing })];
    const { client } = dial(replicas(...servers));
    const running = load(client, 20);
    await sleep(300);
    // One of the two has the stream; whichever it is, it has stopped when both have been replaced.
    for (const server of servers) {
      await server.stop(5000);
      await sleep(100);
      await serve({ release: echoing }, server.port);
      await sleep(1500);
    }
    const results = await running.end();
    expect([...results.keys()]).toEqual(['ok']);
    expect(results.get('ok')).toBeGreaterThan(1000);
  });

  it('still responds to the calls that it has begun', async () => {
    const finish = Promise.withResolvers<boolean>();
    const begun = Promise.withResolvers<boolean>();
    const server = await serve({
      release: async (request) => {
        begun.resolve(true);
        await finish.promise;
        return echoing(request);
      },
    });
    const { client } = dial(server.address);
    const call = client.release({ holdId: 'begun', accountId: '' }, context());
    await begun.promise;
    const stopped = server.stop(5000);
    await sleep(50);
    finish.resolve(true);
    expect((await call).hold!.id).toBe('begun');
    await stopped;
  });
});

describe('a stream that has reached its maximum age', () => {
  it('is followed by another, to the next replica, without a call that fails', async () => {
    const served = [0, 0];
    const counting = (index: number): BatchedMethods => ({
      release: async (request) => {
        served[index]! += 1;
        return echoing(request);
      },
    });
    const { client } = dial(replicas(await serve(counting(0)), await serve(counting(1))), { renewMs: 100 });
    const running = load(client, 10);
    await untilTrue(() => Math.min(...served) > 0);
    expect([...(await running.end()).keys()]).toEqual(['ok']);
    expect(Math.min(...served)).toBeGreaterThan(0);
  });
});

describe('a server without the method', () => {
  it('is reported as such', async () => {
    const { batch: _, ...others } = LedgerServiceDefinition.methods;
    const { log } = recordingLogger();
    const server = await serveGrpc({
      services: [{ definition: { ...LedgerServiceDefinition, methods: others }, service: batchedService({}).service }],
      address: '127.0.0.1:0',
      log,
    });
    closeAll.push(() => server.stop(0));
    const { client } = dial(server.address);
    expect(await failureOf(client.release({ holdId: '1', accountId: '' }, context()))).toMatchObject({ reason: 'unimplemented' });
  });
});
