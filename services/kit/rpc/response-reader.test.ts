// What a consumer of streamed responses may do over gRPC, beyond what every transport allows.
import { afterEach, expect, it } from '@jest/globals';
import { callContext } from '#client/call-context.js';
import { dialGrpc } from '#client/grpc/grpc-client.js';
import { recordingLogger } from '../testing/log.js';
import { type Probe, probe, probeService, ProbeServiceDefinition } from '../testing/probe-service.js';
import { promised } from '../testing/waiting.js';
import { serveGrpc } from './grpc-server.js';

const closeAll: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closeAll.splice(0).reverse()) await close();
});

/** Returns the responses of a call whose producer sends one and waits for its caller to leave, and a promise that it has noticed. */
async function callOfOne(): Promise<{ responses: AsyncIterator<Probe>; left: Promise<void>; begun: () => boolean }> {
  const left = promised<void>();
  let hasBegun = false;
  const service = probeService({
    async *count(_request, context) {
      hasBegun = true;
      yield probe('first');
      await new Promise((resolve) => context!.signal.addEventListener('abort', resolve));
      left.resolve();
    },
  });
  const { log } = recordingLogger();
  const server = await serveGrpc({ services: [{ definition: ProbeServiceDefinition, service }], address: '127.0.0.1:0', log });
  closeAll.push(() => server.stop(0));
  const connection = dialGrpc(server.address, { caller: 'gateway' });
  closeAll.push(() => connection.close());
  const responses = connection.client(ProbeServiceDefinition).count(probe(''), callContext({ caller: 'gateway' }));
  return { responses: responses[Symbol.asyncIterator](), left: left.promise, begun: () => hasBegun };
}

it('ends a request for a response when the consumer leaves meanwhile, and cancels the call', async () => {
  const { responses, left } = await callOfOne();
  expect((await responses.next()).value).toEqual(probe('first'));
  const second = responses.next();
  await responses.return!();
  expect(await second).toEqual({ done: true, value: undefined });
  expect((await responses.next()).done).toBe(true);
  await left;
});

it('begins no call for a consumer that leaves before its first request', async () => {
  const { responses, begun } = await callOfOne();
  await responses.return!();
  expect((await responses.next()).done).toBe(true);
  expect(begun()).toBe(false);
});

it('rejects a request for a response while another one is awaited, which still gets its own', async () => {
  const { responses } = await callOfOne();
  const first = responses.next();
  await expect(responses.next()).rejects.toThrow('another one was awaited');
  expect((await first).value).toEqual(probe('first'));
  await responses.return!();
});
