// A replica that is added to a name while calls run.
import dns from 'node:dns';
import { afterEach, expect, it, jest } from '@jest/globals';
import { LedgerServiceDefinition, ReleaseResponse } from '#proto/ledger/v1/ledger.js';
import { type BatchedLedger, batchedNames, batchedService } from '../../testing/batched-service.js';
import { recordingLogger } from '../../testing/log.js';
import { batchClient } from '#client/batch/batch-client.js';
import { callContext } from '#client/call-context.js';
import { dialGrpc } from '#client/grpc/grpc-client.js';
import { serveGrpc } from './grpc-server.js';

const closeAll: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closeAll.splice(0).reverse()) await close();
  jest.restoreAllMocks();
});

const { log } = recordingLogger();

/** Serves on an address of its own; `served` counts its calls. */
async function serve(host: string, port = 0): Promise<{ port: number; served: number }> {
  const replica = { port: 0, served: 0 };
  const { service } = batchedService({
    release: async ({ holdId }) => {
      replica.served += 1;
      return ReleaseResponse.fromPartial({ hold: { id: holdId } });
    },
  });
  const server = await serveGrpc({ services: [{ definition: LedgerServiceDefinition, service }], address: `${host}:${port}`, log });
  closeAll.push(() => server.stop(0));
  replica.port = server.port;
  return replica;
}

it.each(['plain', 'batched'])(
  'An added replica gets its share of %s calls, and none fails.',
  async (kind) => {
    const addresses = ['127.0.0.1'];
    jest
      .spyOn(dns.promises, 'lookup')
      .mockImplementation((async () => addresses.map((address) => ({ address, family: 4 }))) as unknown as typeof dns.promises.lookup);
    const first = await serve('127.0.0.1');
    const connection = dialGrpc(`dns:///ledger.example:${first.port}`, { caller: 'gateway', dnsRefreshMs: 50 });
    const plain = connection.client(LedgerServiceDefinition);
    const batched = batchClient(LedgerServiceDefinition, plain, {
      method: 'batch',
      operations: batchedNames,
      caller: 'gateway',
      log,
      renewMs: 100,
    });
    closeAll.push(() => connection.close(), batched.close);
    const client: BatchedLedger = kind === 'plain' ? plain : batched.client;
    const call = (id: number) => client.release({ holdId: String(id), accountId: '' }, callContext({ caller: 'gateway', timeoutMs: 5000 }));
    const calls = async (count: number, isEnough: () => boolean): Promise<void> => {
      for (let id = 0; id < count && !isEnough(); id += 1) expect((await call(id)).hold!.id).toBe(String(id));
    };
    await calls(20, () => false);
    const second = await serve('127.0.0.2', first.port);
    addresses.push('127.0.0.2');
    await Promise.all(Array.from({ length: 4 }, () => calls(100_000, () => second.served > 20)));
    expect(second.served).toBeGreaterThan(20);
    const firstServed = first.served;
    await calls(100_000, () => first.served > firstServed);
    expect(first.served).toBeGreaterThan(firstServed);
  },
  30_000,
);
