import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { Attempt, Call, type CheckpointUsageRequest } from '#proto/metering/v1/metering.js';
import { newId } from '#kit/id.js';
import { recordedTraceId } from '#kit/telemetry/traces/recorded-trace.js';
import { recordingLogger } from '#kit/testing/log.js';
import { recordTraces } from '#kit/testing/traces.js';
import { untilTrue } from '#kit/testing/waiting.js';
import type { GatewayPeers } from '../../peers.js';
import { createCheckpoints } from './checkpoints.js';

it('A checkpoint is linked to the trace of each call that it reports, and each call to it.', async () => {
  const traces = recordTraces();
  const sent = Promise.withResolvers<{ request: CheckpointUsageRequest; traceId: string }>();
  const checkpointUsage = async (request: CheckpointUsageRequest): Promise<{ open: boolean[] }> => {
    sent.resolve({ request, traceId: recordedTraceId() });
    return { open: request.items.map(() => true) };
  };
  const { log } = recordingLogger();
  const metering = { checkpointUsage } as unknown as GatewayPeers['metering'];
  const checkpoints = createCheckpoints({ metering, log, intervalMs: 5, rpcTimeoutMs: 1000 });
  const begin = (): string =>
    trace.getTracer('test').startActiveSpan('call', {}, ROOT_CONTEXT, (span) => {
      const call = Call.fromPartial({ id: newId('req') });
      checkpoints.open({ call, tokens: () => TokenCounts.fromPartial({}), onClosed: () => span.end() });
      return span.spanContext().traceId;
    });
  const calls = [begin(), begin()];
  await checkpoints.start();
  const { request, traceId } = await sent.promise;
  await checkpoints.stop();
  expect(request.items).toHaveLength(2);
  const batch = traces.spans().find(({ name }) => name === 'batch checkpoints')!;
  expect(batch.links.map(({ context }) => context.traceId)).toEqual(calls);
  expect(batch.spanContext().traceId).toBe(traceId);
  await traces.stop();
});

describe('calls in flight', () => {
  /** Sends checkpoints every few milliseconds to a fake metering service, which answers with `answer`. */
  function checkpointing(answer: (request: CheckpointUsageRequest) => Promise<boolean[]>) {
    const requests: CheckpointUsageRequest[] = [];
    const checkpointUsage = async (request: CheckpointUsageRequest): Promise<{ open: boolean[] }> => {
      requests.push(request);
      return { open: await answer(request) };
    };
    const { log, lines } = recordingLogger();
    const metering = { checkpointUsage } as unknown as GatewayPeers['metering'];
    const checkpoints = createCheckpoints({ metering, log, intervalMs: 5, rpcTimeoutMs: 1000 });
    const closed: string[] = [];
    const open = (call = Call.fromPartial({ id: newId('req') }), retryKeyHash?: () => Buffer) =>
      checkpoints.open({
        call,
        tokens: () => TokenCounts.fromPartial({}),
        onClosed: () => void closed.push(call.id),
        ...(retryKeyHash && { retryKeyHash }),
      });
    return { checkpoints, requests, closed, lines, open };
  }
  const allOpen = async ({ items }: CheckpointUsageRequest): Promise<boolean[]> => items.map(() => true);

  it('are reported in one round at a time, as they were when it began', async () => {
    const answered = Promise.withResolvers<boolean[]>();
    const { checkpoints, requests, open } = checkpointing(() => answered.promise);
    const call = Call.fromPartial({ id: newId('req') });
    open(call);
    await checkpoints.start();
    await untilTrue(() => requests.length === 1);
    call.attempts.push(Attempt.fromPartial({ upstreamId: 'u' }));
    await sleep(50);
    expect(requests.map(({ items }) => items.map((item) => item.call!.attempts))).toEqual([[[]]]);
    answered.resolve([true]);
    await untilTrue(() => requests.length > 1);
    await checkpoints.stop();
    expect(requests[1]!.items[0]!.call!.attempts).toMatchObject([{ upstreamId: 'u' }]);
  });

  it('are reported after disconnects that had arrived before', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [socket] = (await once(server, 'connection')) as [Socket];
    const { checkpoints, requests, open } = checkpointing(allOpen);
    const call = open();
    socket.resume().once('close', () => call.close());
    await checkpoints.start();
    client.destroy();
    // As if the process were paused: the checkpoint is due before the disconnect is read.
    for (const untilMs = performance.now() + 100; performance.now() < untilMs;);
    await once(socket, 'close');
    await sleep(50);
    await checkpoints.stop();
    server.close();
    expect(requests).toEqual([]);
  });

  it('are reported with the hashes of their requests, of which few are computed at once', async () => {
    const { checkpoints, requests, open } = checkpointing(allOpen);
    const [slow, quick] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    let isComputed = false;
    const compute = (): Buffer => {
      if (!isComputed) for (const untilMs = performance.now() + 40; performance.now() < untilMs;);
      isComputed = true;
      return slow;
    };
    open(undefined, compute);
    open(undefined, () => quick);
    open();
    await checkpoints.start();
    const hashesOf = (request?: CheckpointUsageRequest) => request?.items.map(({ retryKeyHash }) => retryKeyHash);
    await untilTrue(() => requests.length > 1 && hashesOf(requests.at(-1))![1] !== undefined);
    await checkpoints.stop();
    expect([requests[0], requests.at(-1)].map(hashesOf)).toEqual([
      [slow, undefined, undefined],
      [slow, quick, undefined],
    ]);
  });

  it('are reported in requests of a thousand', async () => {
    const { checkpoints, requests, open } = checkpointing(allOpen);
    for (let count = 0; count < 1001; count += 1) open();
    await checkpoints.start();
    await untilTrue(() => requests.length > 1);
    await checkpoints.stop();
    expect(requests.slice(0, 2).map(({ items }) => items.length)).toEqual([1000, 1]);
  });

  it('end when metering has closed them, unless they have ended meanwhile', async () => {
    const answered = Promise.withResolvers<boolean[]>();
    const { checkpoints, requests, closed, open } = checkpointing(() => answered.promise);
    const [lost, ended] = [Call.fromPartial({ id: newId('req') }), Call.fromPartial({ id: newId('req') })];
    open();
    open(lost);
    const last = open(ended);
    await checkpoints.start();
    await untilTrue(() => requests.length === 1);
    last.close();
    answered.resolve([true, false, false]);
    await untilTrue(() => closed.length > 0);
    await checkpoints.stop();
    expect(new Set(closed)).toEqual(new Set([lost.id]));
  });

  it('that are being reported are left out of the next checkpoint only, if none has named them', async () => {
    const { checkpoints, requests, open } = checkpointing(allOpen);
    const [waiting, reported] = [Call.fromPartial({ id: newId('req') }), Call.fromPartial({ id: newId('req') })];
    const other = open(waiting);
    expect(open(reported).reporting()).toBe(true);
    await checkpoints.start();
    await untilTrue(() => requests.length > 0);
    expect(other.reporting()).toBe(false);
    await untilTrue(() => requests.length > 1);
    await checkpoints.stop();
    const named = requests.slice(0, 2).map(({ items }) => items.map(({ call }) => call!.id));
    expect(named).toEqual([[waiting.id], [waiting.id, reported.id]]);
  });

  it('continue when checkpoints fail, which is logged once per outage', async () => {
    const { checkpoints, requests, closed, lines, open } = checkpointing(async (request) => {
      if ([1, 2, 4].includes(requests.length)) throw new Error('away');
      return allOpen(request);
    });
    open();
    await checkpoints.start();
    await untilTrue(() => requests.length > 4);
    await checkpoints.stop();
    expect(closed).toEqual([]);
    expect(lines).toHaveLength(2);
  });
});
