// Messages up to the limit, over every transport, called one by one and in batches.
import { afterEach, expect, it } from '@jest/globals';
import { batchClient } from '#client/batch/batch-client.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { messageBytesMax } from '#client/codec.js';
import { LedgerServiceDefinition, ReleaseResponse, type ReleaseRequest } from '#proto/ledger/v1/ledger.js';
import { batchedNames, batchedService } from '../../testing/batched-service.js';
import { collectGarbage } from '../../testing/garbage.js';
import { recordingLogger } from '../../testing/log.js';
import { probe, probeService, ProbeServiceDefinition } from '../../testing/probe-service.js';
import { encodingTransports, transports } from '../../testing/transports.js';
import { eventually, failureOf } from '../../testing/waiting.js';

const context = (): CallContext => callContext({ caller: 'gateway', timeoutMs: 30_000 });
const tooLarge = 'x'.repeat(messageBytesMax);

const closeAll: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closeAll.splice(0).reverse()) await close();
});

it.each(encodingTransports)('a message %s is delivered up to the limit', async (_, connect) => {
  const service = probeService({ echo: async (request) => probe(String(request.text.length)) });
  const { client, close } = await connect(ProbeServiceDefinition, service, 'gateway');
  closeAll.push(close);
  expect(await client.echo(probe('x'.repeat(8_000_000)), context())).toEqual(probe('8000000'));
  const error = await failureOf(client.echo(probe(tooLarge), context()));
  expect(error).toMatchObject({ reason: 'body_too_large', details: { limit_bytes: String(messageBytesMax) } });
});

it.each(transports)('a batch %s sends what does not fit into one message in the next', async (_, connect) => {
  const release = (holdId: string): ReleaseRequest => ({ holdId, accountId: 'acct' });
  const { service, messages } = batchedService({
    release: async ({ holdId }) => ReleaseResponse.fromPartial({ hold: { id: String(holdId.length) } }),
  });
  const connection = await connect(LedgerServiceDefinition, service, 'gateway');
  const { client, close } = batchClient(LedgerServiceDefinition, connection.client, {
    method: 'batch',
    operations: batchedNames,
    caller: 'gateway',
    log: recordingLogger().log,
  });
  closeAll.push(() => connection.close(), close);
  const sizes = [200_000, messageBytesMax - 50_000, 10];
  const answers = await Promise.all(sizes.map((size) => client.release(release('x'.repeat(size)), context())));
  expect(answers.map(({ hold }) => Number(hold!.id))).toEqual(sizes);
  expect(messages).toEqual([1, 1, 1]);
  expect(await failureOf(client.release(release(tooLarge), context()))).toMatchObject({ reason: 'body_too_large' });
});

it('a server of an open stream over gRPC does not keep the bytes of its request', async () => {
  const service = probeService({
    async *count({ text }, { signal } = context()) {
      yield probe(String(text.length));
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  });
  const [, connect] = transports.find(([name]) => name === 'over gRPC')!;
  const { client, close } = await connect(ProbeServiceDefinition, service, 'gateway');
  closeAll.push(close);
  await collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const stop = new AbortController();
  const request = probe('x'.repeat(2_000_000));
  const streams = Array.from({ length: 10 }, () =>
    client.count(request, callContext({ caller: 'gateway', signal: stop.signal }))[Symbol.asyncIterator](),
  );
  for (const each of streams) expect(await each.next()).toMatchObject({ value: probe('2000000') });
  // Grpc-js keeps the message that its client has sent, and the parts in which its server has received it.
  const kept = 2;
  await eventually(async () => {
    await collectGarbage();
    return process.memoryUsage().arrayBuffers - before < (kept + 0.5) * streams.length * request.text.length ? true : undefined;
  });
  const ended = streams.map((each) => failureOf(each.next()));
  stop.abort();
  expect(await Promise.all(ended)).toEqual(streams.map(() => expect.objectContaining({ reason: 'cancelled' })));
});
