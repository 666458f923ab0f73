// Calls that stream their requests, over every transport.
import { afterEach, describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { probeAccess } from '../testing/access.js';
import { recordingLogger } from '../testing/log.js';
import { type Probe, probe, type ProbeService, probeService, ProbeServiceDefinition } from '../testing/probe-service.js';
import { type Connection, transports } from '../testing/transports.js';
import { failureOf, untilStill, untilTrue } from '../testing/waiting.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { serveGrpc } from './grpc/grpc-server.js';
import { dialGrpc } from '#client/grpc/grpc-client.js';
import { decorateService } from './chain/standard-chain.js';

type Converse = ProbeService['converse'];

const context = (options: { timeoutMs?: number; signal?: AbortSignal } = {}): CallContext => callContext({ caller: 'gateway', ...options });

const decorated = (converse: Converse): ProbeService =>
  decorateService(ProbeServiceDefinition, probeService({ converse }), { access: probeAccess(), log: recordingLogger().log });

/** Responds to each request. */
const echoing: Converse = async function* (requests) {
  for await (const request of requests) yield probe(`${request.text}!`);
};

/** Endless requests that report when they are cleaned up. */
function endless(onLeft: () => void = () => {}): AsyncIterable<Probe> & { taken: number } {
  return {
    taken: 0,
    async *[Symbol.asyncIterator]() {
      try {
        for (;;) {
          this.taken += 1;
          yield probe('x'.repeat(10_000));
        }
      } finally {
        onLeft();
      }
    },
  };
}

/** Requests that arrive when they are pushed. */
function pushed(): AsyncIterable<Probe> & { push(text: string): void; end(): void } {
  const queue: (string | undefined)[] = [];
  let wake = (): void => {};
  return {
    push: (text) => {
      queue.push(text);
      wake();
    },
    end: () => {
      queue.push(undefined);
      wake();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (queue.length === 0) await new Promise<void>((resolve) => (wake = resolve));
        const text = queue.shift();
        if (text === undefined) return;
        yield probe(text);
      }
    },
  };
}

describe.each(transports)('a call that streams its requests, %s', (_, connect, aheadMax) => {
  let connection: Connection<ProbeService> | undefined;

  afterEach(() => connection?.close());

  async function clientOf(converse: Converse, caller = 'gateway'): Promise<ProbeService> {
    connection = await connect(ProbeServiceDefinition, decorated(converse), caller);
    return connection.client;
  }

  it('gets responses while its requests still arrive, and ends when they do', async () => {
    const client = await clientOf(echoing);
    const requests = pushed();
    const responses = client.converse(requests, context())[Symbol.asyncIterator]();
    for (let turn = 0; turn < 100; turn += 1) {
      const response = responses.next();
      requests.push(`turn ${turn}`);
      expect(await response).toEqual({ done: false, value: probe(`turn ${turn}!`) });
    }
    requests.end();
    expect(await responses.next()).toMatchObject({ done: true });
  });

  it('keeps many messages in order both ways', async () => {
    const client = await clientOf(echoing);
    const texts = Array.from({ length: 1000 }, (__, index) => String(index));
    const received: string[] = [];
    const source = async function* (): AsyncGenerator<Probe> {
      for (const text of texts) yield probe(text);
    };
    for await (const { text } of client.converse(source(), context())) received.push(text);
    expect(received).toEqual(texts.map((text) => `${text}!`));
  });

  it('may end while requests still arrive, and their iterator is closed', async () => {
    const left = Promise.withResolvers<boolean>();
    const client = await clientOf(async function* (requests) {
      for await (const request of requests) {
        yield probe(String(request.text.length));
        return;
      }
    });
    const received: string[] = [];
    for await (const { text } of client.converse(
      endless(() => left.resolve(true)),
      context(),
    ))
      received.push(text);
    expect(received).toEqual(['10000']);
    expect(await left.promise).toBe(true);
  });

  it('reads requests no faster than the service does', async () => {
    const release = Promise.withResolvers<boolean>();
    const client = await clientOf(async function* (requests) {
      await release.promise;
      for await (const request of requests) {
        yield request;
        return;
      }
    });
    const requests = endless();
    const response = client.converse(requests, context())[Symbol.asyncIterator]();
    const first = response.next();
    await untilStill(() => requests.taken);
    expect(requests.taken).toBeLessThanOrEqual(aheadMax);
    release.resolve(true);
    expect((await first).done).toBe(false);
    await response.return?.();
  });

  it('raises the error of the service, after the responses before it', async () => {
    const client = await clientOf(async function* (requests) {
      for await (const request of requests) {
        yield request;
        throw new AppError('balance_held', 'Wait for the calls in flight.', { retryAfterMs: 7 });
      }
    });
    const received: number[] = [];
    const read = async (): Promise<void> => {
      for await (const { text } of client.converse(endless(), context())) received.push(text.length);
    };
    expect(await failureOf(read())).toMatchObject({ reason: 'balance_held', retryAfterMs: 7 });
    expect(received).toEqual([10_000]);
  });

  it('fails with the error of its own requests, and the service learns that its caller disconnected', async () => {
    const seen = Promise.withResolvers<unknown>();
    const client = await clientOf(async function* (requests) {
      try {
        yield* echoing(requests);
      } catch (error) {
        seen.resolve(error);
        throw error;
      }
    });
    const fault = new RangeError('nothing more to say');
    const answered = Promise.withResolvers<boolean>();
    const source = async function* (): AsyncGenerator<Probe> {
      yield probe('one');
      await answered.promise;
      throw fault;
    };
    const read = async (): Promise<void> => {
      for await (const _message of client.converse(source(), context())) answered.resolve(true);
    };
    await expect(read()).rejects.toBe(fault);
    expect(await seen.promise).toMatchObject({ reason: 'cancelled' });
  });

  it('ends for a service that waits for requests when its consumer disconnects', async () => {
    const cleaned = Promise.withResolvers<boolean>();
    const left = Promise.withResolvers<boolean>();
    const client = await clientOf(async function* (requests) {
      try {
        yield probe('first');
        for await (const _request of requests);
      } finally {
        cleaned.resolve(true);
      }
    });
    // Never sends another request, and can be told that none is wanted.
    const source: AsyncIterable<Probe> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        async return() {
          left.resolve(true);
          return { done: true, value: undefined };
        },
      }),
    };
    for await (const _message of client.converse(source, context())) break;
    expect(await cleaned.promise).toBe(true);
    expect(await left.promise).toBe(true);
  });

  it('ends at its deadline', async () => {
    const client = await clientOf(echoing);
    const read = async (): Promise<void> => {
      for await (const _message of client.converse(pushed(), context({ timeoutMs: 150 })));
    };
    expect(await failureOf(read())).toMatchObject({ reason: 'deadline_exceeded' });
  });

  it('is refused to callers without its grant', async () => {
    const client = await clientOf(echoing, 'metering');
    const read = async (): Promise<void> => {
      for await (const _message of client.converse(endless(), context()));
    };
    expect(await failureOf(read())).toMatchObject({ reason: 'peer_not_permitted' });
  });
});

describe('a server that stops', () => {
  it('reads no more requests, responds to those it has, and ends the stream without an error', async () => {
    const finish = Promise.withResolvers<boolean>();
    let hasSeenTheEnd = false;
    const { log } = recordingLogger();
    const service = decorated(async function* (requests) {
      for await (const request of requests) yield request;
      hasSeenTheEnd = true;
      await finish.promise;
      yield probe('the rest');
    });
    const server = await serveGrpc({ services: [{ definition: ProbeServiceDefinition, service }], address: '127.0.0.1:0', log });
    const connection = dialGrpc(server.address, { caller: 'gateway' });
    const requests = pushed();
    const responses = connection.client(ProbeServiceDefinition).converse(requests, context())[Symbol.asyncIterator]();
    requests.push('before');
    expect((await responses.next()).value).toEqual(probe('before'));
    const stopped = server.stop(5000);
    await untilTrue(() => hasSeenTheEnd);
    requests.push('too late');
    finish.resolve(true);
    expect((await responses.next()).value).toEqual(probe('the rest'));
    expect(await responses.next()).toMatchObject({ done: true });
    await stopped;
    connection.close();
  });
});
