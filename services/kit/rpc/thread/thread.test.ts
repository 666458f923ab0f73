// Behaviour that only the connection between threads has; the behaviour of all transports is in transports.test.ts.
import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { callContext, type CallContext } from '#client/call-context.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { probeAccess } from '../../testing/access.js';
import { recordingLogger } from '../../testing/log.js';
import { type Probe, probe, type ProbeService, probeService, ProbeServiceDefinition } from '../../testing/probe-service.js';
import { failureOf } from '../../testing/waiting.js';
import { decorateService } from '../chain/standard-chain.js';
import { Packer, Unpacker } from './packing.js';
import { dialThread } from './thread-client.js';
import { serveThread } from './thread-server.js';

const context = (options: { timeoutMs?: number } = {}): CallContext => callContext({ caller: 'gateway', ...options });
let closeAll = async (): Promise<void> => undefined;

afterEach(() => closeAll());

function connected(methods: Partial<ProbeService>) {
  const { log } = recordingLogger();
  const { port1, port2 } = new MessageChannel();
  const service = decorateService(ProbeServiceDefinition, probeService(methods), { access: probeAccess(), log });
  const server = serveThread(port1, { services: [{ definition: ProbeServiceDefinition, service }], caller: 'gateway', log });
  const connection = dialThread(port2, { caller: 'gateway' });
  closeAll = async () => {
    connection.close();
    await server.stop(0);
  };
  return { client: connection.client(ProbeServiceDefinition), server, connection, ports: { server: port1, client: port2 } };
}

const echo = async (request: Probe): Promise<Probe> => request;

describe('a connection between threads', () => {
  it('posts the calls of one turn, and their results, as one array each', async () => {
    const { client, ports } = connected({ echo });
    const arrays = { server: [] as number[], client: [] as number[] };
    ports.server.on('message', ([frames]: [unknown[]]) => arrays.server.push(frames.length));
    ports.client.on('message', ([frames]: [unknown[]]) => arrays.client.push(frames.length));
    const texts = Array.from({ length: 50 }, (_, index) => String(index));
    const results = await Promise.all(texts.map((text) => client.echo(probe(text), context())));
    expect(results.map(({ text }) => text)).toEqual(texts);
    expect(arrays).toEqual({ server: [50], client: [50] });
  });

  it('fails calls with service_unavailable when the serving thread has ended', async () => {
    const { client, ports } = connected({ echo: () => new Promise(() => {}) });
    const open = failureOf(client.echo(probe('one'), context()));
    await new Promise((resolve) => setTimeout(resolve, 10));
    ports.server.close();
    expect(await open).toMatchObject({ reason: 'service_unavailable' });
    expect(await failureOf(client.echo(probe('two'), context()))).toMatchObject({ reason: 'service_unavailable' });
  });

  it('aborts the calls of a thread that has ended', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const { client, ports } = connected({
      echo: (_, callee) => {
        begun.resolve(callee!.signal);
        return new Promise(() => {});
      },
    });
    const lost = failureOf(client.echo(probe('one'), context()));
    const signal = await begun.promise;
    ports.client.close();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    expect(signal.reason).toMatchObject({ reason: 'cancelled' });
    expect(await lost).toMatchObject({ reason: 'service_unavailable' });
  });

  it('reports a service that the other thread does not serve', async () => {
    const { connection } = connected({});
    const ledger = connection.client(LedgerServiceDefinition);
    expect(await failureOf(ledger.getHealth({}, context()))).toMatchObject({ reason: 'unimplemented' });
  });
});

describe('a server that stops', () => {
  it('finishes calls in flight, refuses others, and ends watches', async () => {
    const begun = Promise.withResolvers<boolean>();
    const finish = Promise.withResolvers<boolean>();
    const { client, server } = connected({
      async echo(request) {
        begun.resolve(true);
        await finish.promise;
        return request;
      },
      async *watchTicks(request, callee) {
        yield request;
        await new Promise((resolve) => callee!.signal.addEventListener('abort', resolve));
        throw callee!.signal.reason;
      },
    });
    const watch = client.watchTicks(probe('tick'), context())[Symbol.asyncIterator]();
    expect(await watch.next()).toMatchObject({ done: false });
    const call = client.echo(probe('in flight'), context());
    await begun.promise;
    const stopped = server.stop(5000);
    expect(await failureOf(watch.next())).toMatchObject({ reason: 'service_unavailable' });
    expect(await failureOf(client.echo(probe('late'), context()))).toMatchObject({ reason: 'service_unavailable' });
    finish.resolve(true);
    expect(await call).toEqual(probe('in flight'));
    await stopped;
  });

  it('aborts what has not finished in time', async () => {
    const { client, server } = connected({ echo: () => new Promise(() => {}) });
    const call = failureOf(client.echo(probe('stuck'), context()));
    await new Promise((resolve) => setTimeout(resolve, 10));
    await server.stop(20);
    expect(await call).toMatchObject({ reason: 'service_unavailable' });
  });
});

describe('messages between threads', () => {
  const bytesOf = (size: number, value: number): Uint8Array<ArrayBuffer> => new Uint8Array(size).fill(value);

  it('arrive in order, small and large ones', () => {
    const sent = [bytesOf(3, 1), bytesOf(100_000, 2), bytesOf(0, 3), bytesOf(2, 4)];
    const packer = new Packer();
    const posted = structuredClone([sent.map((each) => packer.add(each)), packer.block()] as const);
    const unpacker = new Unpacker(posted[1]);
    expect(posted[0].map((each) => unpacker.next(each))).toEqual(sent);
  });

  it('do not carry the memory that small Buffers share, and hand over that of large ones', () => {
    const packer = new Packer();
    const large = bytesOf(100_000, 2);
    packer.add(Buffer.from('a slice of the pool of small Buffers'));
    packer.add(large);
    expect(packer.block().buffer.byteLength).toBe(36);
    expect(packer.transfers).toEqual([large.buffer]);
  });

  it('are posted once if the response was sent provisionally', async () => {
    const { client, ports } = connected({
      async echo(request, callee) {
        callee?.onProvisional?.(request);
        await new Promise((resolve) => setImmediate(resolve));
        return request;
      },
    });
    const blocks: number[] = [];
    ports.client.on('message', ([, { byteLength }]: [unknown, Uint8Array]) => blocks.push(byteLength));
    const received: unknown[] = [];
    const response = await client.echo(probe('held'), callContext({ caller: 'gateway', onProvisional: (each) => received.push(each) }));
    expect([received, response]).toEqual([[probe('held')], probe('held')]);
    expect(blocks.filter((bytes) => bytes > 0)).toHaveLength(1);
  });
});
