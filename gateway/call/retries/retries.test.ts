import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import type { GenerateResponse } from '#proto/inference/v1/inference.js';
import { GenerateRequest } from '#proto/inference/v1/inference.js';
import { type JoinCallResponse, Outcome, type RecordUsageRequest, UsageRecord } from '#proto/metering/v1/metering.js';
import { AppError } from '#client/errors/app-error.js';
import { type Clock, ManualClock } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { failureOf } from '#kit/testing/waiting.js';
import { batch, callWorld, finished, output, type Play, read, started } from '../testing/call-world.js';
import { type Random, seeded } from '../../../tests/kill/random.js';
import type { Later } from './offered-call.js';
import { createRetries, type RequestClient } from './retries.js';

/** A clock that advances only on request. */
class VirtualTime implements Clock {
  private passedMs = 0;
  private readonly timers = new Set<{ readonly atMs: number; readonly act: () => void }>();

  readonly later: Later = (ms, act) => {
    const timer = { atMs: this.passedMs + ms, act };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  };

  nowMs(): number {
    return this.passedMs;
  }

  monotonicMs(): number {
    return this.passedMs;
  }

  wait(ms: number): Promise<undefined> {
    return new Promise((resolve) => void this.later(ms, () => resolve(undefined)));
  }

  async pass(ms: number): Promise<void> {
    const untilMs = this.passedMs + ms;
    await turn();
    for (let next = this.next(); next !== undefined && next.atMs <= untilMs; next = this.next()) await this.run(next);
    this.passedMs = untilMs;
  }

  async until<T>(promise: Promise<T>): Promise<T> {
    let isOver = false;
    const over = promise.finally(() => void (isOver = true));
    for (await turn(); !isOver; await turn()) {
      const next = this.next();
      if (next !== undefined) await this.run(next);
    }
    return over;
  }

  private next() {
    return [...this.timers].toSorted((a, b) => a.atMs - b.atMs)[0];
  }

  private async run(timer: { readonly atMs: number; readonly act: () => void }): Promise<void> {
    this.passedMs = timer.atMs;
    this.timers.delete(timer);
    timer.act();
    // What it causes: a few steps through generators and fake RPCs.
    for (let turns = 0; turns < 3; turns += 1) await turn();
  }
}

/** What metering knows of offered calls, for any number of gateways. */
class OfferStore {
  readonly keys = new Map<
    string,
    { callId: string; state: 'running' | 'kept'; record?: UsageRecord; answer?: Buffer; isAwaited: boolean; isDelivered?: boolean }
  >();
  readonly released: string[] = [];

  constructor(
    private readonly time = new VirtualTime(),
    private readonly delayMs = 0,
  ) {}

  readonly rpcs: NonNullable<Play['metering']> = {
    offerCall: async ({ keyHash, callId, answer }) => {
      await this.delay();
      const key = keyHash.toString('hex');
      const known = this.keys.get(key);
      if (known?.callId === callId) return { offered: true, awaited: known.isAwaited };
      if (known?.state === 'running') return { offered: false, awaited: false };
      const record = this.records.find(({ call }) => call!.id === callId);
      this.keys.set(key, { callId, state: answer.length > 0 ? 'kept' : 'running', ...(record && { record }), answer, isAwaited: false });
      return { offered: true, awaited: false };
    },
    joinCall: async ({ keyHash }): Promise<JoinCallResponse> => {
      await this.delay();
      const known = this.keys.get(keyHash.toString('hex'));
      if (known === undefined) return { result: undefined };
      known.isAwaited = true;
      if (known.state === 'running') return { result: { $case: 'inProgress', value: { callId: known.callId } } };
      return { result: { $case: 'completed', value: { record: known.record!, answer: known.answer! } } };
    },
    releaseIdempotencyKey: async ({ keyHash, callId, ended }) => {
      const key = keyHash.toString('hex');
      const known = this.keys.get(key);
      if (known?.callId !== callId || (!ended && known.state !== 'running')) return {};
      // The key of a call that is not on record yet stays reserved for its record.
      if (ended && known.state === 'running') known.isDelivered = true;
      else this.keys.delete(key);
      this.released.push(callId);
      return {};
    },
  };
  readonly records: UsageRecord[] = [];

  /** Stores a record with its answer, as metering does in one transaction. */
  readonly record = async (request: RecordUsageRequest): Promise<void> => {
    await this.delay();
    const { call, tokens, storedAnswer, free } = request;
    const key = call!.idempotencyKeyHash.toString('hex');
    const known = this.keys.get(key);
    if (key !== '' && known?.callId !== call!.id) throw new AppError('call_closed', 'The call does not have its key.');
    const record = UsageRecord.fromPartial({ call: call!, tokens: tokens!, chargeNanoUsd: free ? 0n : 7n, outcome: request.outcome });
    this.records.push(record);
    if (known === undefined) return;
    if (free || known.isDelivered === true) this.keys.delete(key);
    else Object.assign(known, { state: 'kept', record, answer: storedAnswer });
  };

  charged(): UsageRecord[] {
    return this.records.filter(({ chargeNanoUsd }) => chargeNanoUsd > 0n);
  }

  private async delay(): Promise<void> {
    if (this.delayMs > 0) await this.time.wait(this.delayMs);
  }
}

/** An upstream that accepts a call at once and sends its answer when the test calls `answer`. */
class Upstream {
  readonly #open = Promise.withResolvers<void>();

  answer(): void {
    this.#open.resolve();
  }

  readonly generate = async function* (this: Upstream, context: { signal: AbortSignal }): AsyncGenerator<GenerateResponse> {
    yield { events: [], accepted: {} } as unknown as GenerateResponse;
    await Promise.race([
      this.#open.promise,
      new Promise((_resolve, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason as Error))),
    ]);
    yield batch(started, ...output);
    yield batch(finished);
  }.bind(this);
}

/** A client library: its attempts, each of which may disconnect. */
function attempt(retryCount: number, changes: Partial<RequestClient> = {}) {
  const gone = new AbortController();
  let received = false;
  const delivered: (() => void)[] = [];
  const client: RequestClient = {
    retryCount,
    disconnected: gone.signal,
    hasReceived: () => received,
    format: 'messages',
    version: '2023-06-01',
    credentials: 'sk-tg-1',
    onDelivered: (note) => void delivered.push(note),
    ...changes,
  };
  return {
    client,
    leave: () => gone.abort(),
    receive: () => void (received = true),
    finish: () => delivered.forEach((note) => note()),
  };
}

/** Returns an OfferCall that waits until `storeOffer` is called. */
function heldOffer({ rpcs }: OfferStore) {
  let storeOffer: (() => void) | undefined;
  const offerCall: typeof rpcs.offerCall = async (...offer) => {
    await new Promise<void>((resolve) => (storeOffer ??= resolve));
    return rpcs.offerCall!(...offer);
  };
  return { offerCall, storeOffer: () => storeOffer!() };
}

/** One gateway over the store. */
function gateway(store: OfferStore, play: Play = {}, time = new VirtualTime()) {
  const world = callWorld({ metering: store.rpcs, record: store.record, ...play });
  const retries = createRetries({ ...world.deps, clock: time }, time.later);
  /** Begins a call, and lets time pass until it has begun. */
  const begin = (...call: Parameters<typeof retries.begin>) => time.until(Promise.resolve(retries.begin(...call)));
  return { ...world, retries, begin };
}

describe('a retry of a client library', () => {
  let store: OfferStore;
  let upstream: Upstream;

  beforeEach(() => {
    store = new OfferStore();
    upstream = new Upstream();
  });

  it('leaves its call free if the gateway is lost while no client waits', async () => {
    const world = gateway(store, {
      async *generate({ signal }) {
        yield batch(started, ...output);
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    });
    const open = jest.spyOn(world.deps.checkpoints, 'open');
    const first = attempt(0);
    void read((await world.retries.begin(world.request(false), first.client)).steps);
    await turn();
    const outputSoFar = () => open.mock.calls[0]![0].tokens().outputTokens;
    expect(outputSoFar()).toBe(3);
    first.leave();
    expect(outputSoFar()).toBe(0);
    const second = attempt(1);
    void read((await world.retries.begin(world.request(false), second.client)).steps);
    expect(outputSoFar()).toBe(3);
    world.retries.close();
  });

  it.each([
    ['whole', false],
    ['streamed', true],
  ])('gets the %s answer of the call that it repeats, which is charged once', async (_how, streaming) => {
    const { retries, request, seen } = gateway(store, upstream);
    const first = attempt(0);
    const begun = await retries.begin(request(streaming), first.client);
    const original = read(begun.steps);
    await turn();
    first.leave();
    await turn();
    const second = attempt(1);
    const joined = await retries.begin(request(streaming), second.client);
    expect(joined.callId).toBe(begun.callId);
    upstream.answer();
    expect(await read(joined.steps)).toMatchObject({
      kinds: ['admitted', 'events', 'events', 'recorded'],
      events: [started, ...output, finished],
    });
    await original;
    second.finish();
    await turn();
    expect(seen.generated).toBe(1);
    expect(store.charged()).toMatchObject([{ outcome: Outcome.OUTCOME_COMPLETED }]);
    expect(store.released).toEqual([begun.callId]);
  });

  it('gets the answer from another gateway, even if the call has ended before it arrives', async () => {
    const [one, other] = [gateway(store, upstream), gateway(store)];
    const first = attempt(0);
    const { steps, callId } = await one.retries.begin(one.request(false), first.client);
    const original = read(steps);
    await turn();
    first.leave();
    upstream.answer();
    const { events } = await original;
    const retried = { ...other.request(false), key: one.request().key };
    const joined = await other.retries.begin(retried, attempt(1).client);
    expect([joined.callId, (await read(joined.steps)).events]).toEqual([callId, events]);
    expect([other.seen.generated, store.charged().length]).toEqual([0, 1]);
  });

  it.each(['while it is recorded', 'while its answer is sent to metering', 'when metering has its answer'])(
    'gets the answer of a call whose client disconnected while it was recorded: %s',
    async (arrives) => {
      const { promise: recording, resolve: endRecording } = Promise.withResolvers<void>();
      const { offerCall, storeOffer } = heldOffer(store);
      const { retries, request, seen } = gateway(store, {
        metering: { ...store.rpcs, offerCall },
        record: async (report) => {
          await recording;
          await store.record(report);
        },
      });
      const first = attempt(0);
      const { steps, callId } = await retries.begin(request(false), first.client);
      const original = read(steps);
      for (let turns = 0; turns < 5; turns += 1) await turn();
      first.leave();
      const retry = () => retries.begin(request(false), attempt(1).client);
      let joined = arrives === 'while it is recorded' ? await retry() : undefined;
      endRecording();
      const { events } = await original;
      await turn();
      if (arrives === 'while its answer is sent to metering') joined = await retry();
      // Not sent if the retry has joined the call before.
      if (arrives !== 'while it is recorded') storeOffer();
      for (let turns = 0; turns < 5; turns += 1) await turn();
      joined ??= await retry();
      expect([joined.callId, (await read(joined.steps)).events]).toEqual([callId, events]);
      expect([seen.generated, store.charged().length]).toEqual([1, 1]);
    },
  );

  it.each<[string, number, Partial<RequestClient>]>([
    ['a first attempt', 0, {}],
    ['a request with another platform key', 1, { credentials: 'sk-tg-2' }],
    ['a request in another version of the format', 1, { version: '2026-10-21' }],
    ['a request in another format', 1, { format: 'chat-completions' }],
  ])('is not %s', async (_what, retryCount, changes) => {
    const { retries, begin, request, seen } = gateway(store, upstream);
    const first = attempt(0);
    const original = read((await retries.begin(request(), first.client)).steps);
    await turn();
    first.leave();
    await turn();
    const other = await begin(request(), attempt(retryCount, changes).client);
    upstream.answer();
    await Promise.all([read(other.steps), original]);
    expect(seen.generated).toBe(2);
  });

  it('is not a request for a whole answer if the call is streamed', async () => {
    const { retries, begin, request, seen } = gateway(store, upstream);
    const first = attempt(0);
    const original = read((await retries.begin(request(true), first.client)).steps);
    await turn();
    first.leave();
    const other = await begin(request(false), attempt(1).client);
    upstream.answer();
    await Promise.all([read(other.steps), original]);
    expect(seen.generated).toBe(2);
  });

  it('is refused if its key may no longer use the model', async () => {
    const { retries, request } = gateway(store, upstream);
    const first = attempt(0);
    const original = read((await retries.begin(request(), first.client)).steps);
    await turn();
    first.leave();
    await turn();
    const { key } = request();
    const restricted = { ...request(), key: { ...key, models: { allModels: false, modelIds: ['other'] } } };
    expect(await failureOf(Promise.resolve(retries.begin(restricted, attempt(1).client)))).toMatchObject({ reason: 'model_not_permitted' });
    upstream.answer();
    await original;
  });

  it('runs nothing if its client disconnects while metering is being queried', async () => {
    let answer: (() => void) | undefined;
    const { retries, request, seen } = gateway(store, {
      metering: { ...store.rpcs, joinCall: () => new Promise((resolve) => (answer = () => resolve({ result: undefined }))) },
    });
    const { client, leave } = attempt(1);
    const refused = failureOf(Promise.resolve(retries.begin(request(), client)));
    await turn();
    leave();
    answer!();
    expect(await refused).toMatchObject({ reason: 'cancelled' });
    expect(seen.generated).toBe(0);
  });

  it.each(['disconnects', 'has waited as long as a call may take'])(
    'waits for a call at another gateway until its client %s',
    async (end) => {
      const time = new VirtualTime();
      const clock = new ManualClock();
      const callId = newId('req');
      const { deps, request, seen } = callWorld({
        metering: { ...store.rpcs, joinCall: async () => ({ result: { $case: 'inProgress', value: { callId } } }) },
      });
      const retries = createRetries({ ...deps, clock }, time.later);
      const { client, leave } = attempt(1);
      const refused = failureOf(Promise.resolve(retries.begin(request(), client)));
      await time.pass(10_000);
      if (end === 'disconnects') leave();
      else {
        clock.advance(deps.config.callTimeoutMs + 1);
        await time.pass(500);
      }
      expect(await refused).toMatchObject(
        end === 'disconnects' ? { reason: 'cancelled' } : { reason: 'idempotency_in_progress', details: { original_request_id: callId } },
      );
      expect(seen.generated).toBe(0);
    },
  );

  it('finds a call whose client is noticed to have disconnected only while metering is being queried', async () => {
    let answer: (() => void) | undefined;
    const { retries, request, seen } = gateway(store, {
      ...upstream,
      metering: { ...store.rpcs, joinCall: () => new Promise((resolve) => (answer = () => resolve({ result: undefined }))) },
    });
    const first = attempt(0);
    const begun = await retries.begin(request(), first.client);
    const original = read(begun.steps);
    await turn();
    const joining = retries.begin(request(), attempt(1).client);
    await turn();
    first.leave();
    answer!();
    const joined = await joining;
    expect([joined.callId, seen.generated]).toEqual([begun.callId, 1]);
    upstream.answer();
    await Promise.all([original, read(joined.steps)]);
  });

  it('finds a call that was offered while its answer was already recorded', async () => {
    const { offerCall, storeOffer } = heldOffer(store);
    const [one, other] = [gateway(store, { ...upstream, metering: { ...store.rpcs, offerCall } }), gateway(store)];
    const first = attempt(0);
    const { steps, callId } = await one.retries.begin(one.request(false), first.client);
    const original = read(steps);
    await turn();
    first.leave();
    upstream.answer();
    for (let turns = 0; turns < 5; turns += 1) await turn();
    storeOffer();
    await original;
    const joined = await other.retries.begin({ ...other.request(false), key: one.request().key }, attempt(1).client);
    expect([joined.callId, other.seen.generated]).toEqual([callId, 0]);
    await read(joined.steps);
  });

  it('finds no call that ended before its offer was stored', async () => {
    const { offerCall, storeOffer } = heldOffer(store);
    const play = { ...upstream, metering: { ...store.rpcs, offerCall }, settings: { TOLLGATE_GATEWAY_READ_ON_TIME: '0ms' } };
    const { retries, request } = gateway(store, play);
    const first = attempt(0);
    const original = read((await retries.begin(request(), first.client)).steps);
    await turn();
    first.leave();
    await turn();
    retries.close();
    storeOffer();
    await original;
    await turn();
    expect(store.records).toMatchObject([{ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED }]);
    expect(store.keys.size).toBe(0);
  });

  it.each([
    ['gets the answer of a call that is being recorded when the gateway stops', undefined, 1],
    ['runs as a new call if the call failed while its client disconnected', new AppError('upstream_failed', 'No.'), 2],
  ])('%s', async (_what, failure, calls) => {
    const { promise: recording, resolve: endRecording } = Promise.withResolvers<void>();
    const { promise: leaving, resolve: hasLeft } = Promise.withResolvers<void>();
    let generated = 0;
    const play: Play = {
      async *generate() {
        generated += 1;
        if (failure === undefined) await leaving;
        yield batch(started, ...output);
        if (failure !== undefined && generated === 1) throw failure;
        yield batch(finished);
      },
      record: async (report) => {
        if (store.records.length === 0) await recording;
        await store.record(report);
      },
    };
    const [one, other] = [gateway(store, play), gateway(store, play)];
    const first = attempt(0);
    const original = read((await one.retries.begin(one.request(false), first.client)).steps);
    if (failure === undefined) {
      await turn();
      first.leave();
      hasLeft();
    }
    for (let turns = 0; turns < 5; turns += 1) await turn();
    if (failure === undefined) one.retries.close();
    else first.leave();
    endRecording();
    await original;
    for (let turns = 0; turns < 5; turns += 1) await turn();
    const joined = await other.begin({ ...other.request(false), key: one.request().key }, attempt(1).client);
    expect(await read(joined.steps)).toMatchObject({ events: [started, ...output, finished] });
    expect(generated).toBe(calls);
  });

  it('waits for as many calls as the setting allows', async () => {
    const settings = { TOLLGATE_GATEWAY_READ_ON_TIME: '0ms', TOLLGATE_GATEWAY_READ_ON_CALLS_MAX: '1' };
    const { retries, request } = gateway(store, { ...upstream, settings });
    const firsts = [attempt(0), attempt(0)];
    const ended = [];
    for (const { client } of firsts) ended.push(read((await retries.begin(request(), client)).steps));
    await turn();
    for (const { leave } of firsts) leave();
    await ended[1];
    expect(store.records).toMatchObject([{ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED }]);
    upstream.answer();
    await ended[0];
    expect(store.records[1]).toMatchObject({ outcome: Outcome.OUTCOME_COMPLETED });
  });

  it('is not a request with another body', async () => {
    const { retries, begin, request, seen } = gateway(store, upstream);
    const first = attempt(0);
    const original = read((await retries.begin(request(), first.client)).steps);
    await turn();
    first.leave();
    const other = request();
    const changed = { ...other, parsed: { ...other.parsed, request: GenerateRequest.fromPartial({ choices: 2 }) } };
    const begun = await begin(changed, attempt(1).client);
    upstream.answer();
    await Promise.all([read(begun.steps), original]);
    expect(seen.generated).toBe(2);
  });

  it('runs as a new call if its client had received a part of the stream', async () => {
    const { retries, begin, request, seen } = gateway(store);
    const first = attempt(0);
    const { steps } = await retries.begin(request(), first.client);
    await steps.next();
    await steps.next();
    first.receive();
    first.leave();
    await read(steps);
    await read((await begin(request(), attempt(1).client)).steps);
    expect(seen.generated).toBe(2);
    expect(store.keys.size).toBe(0);
  });

  it('of identical requests at the same time: each gets the answer of its own call', async () => {
    const { retries, request, seen } = gateway(store, upstream);
    const firsts = [attempt(0), attempt(0), attempt(0)];
    const originals = [];
    for (const { client } of firsts) originals.push(await retries.begin(request(), client));
    const ended = originals.map(({ steps }) => read(steps));
    await turn();
    for (const { leave } of firsts) leave();
    await turn();
    const joined = [];
    for (let index = 0; index < 3; index += 1) joined.push(await retries.begin(request(), attempt(1).client));
    upstream.answer();
    await Promise.all([...ended, ...joined.map(({ steps }) => read(steps))]);
    expect(new Set(joined.map(({ callId }) => callId))).toEqual(new Set(originals.map(({ callId }) => callId)));
    expect([seen.generated, store.charged().length]).toEqual([3, 3]);
  });

  it('is not admitted while metering cannot determine whether it repeats a call', async () => {
    const { retries, request, seen } = gateway(store, {
      metering: { ...store.rpcs, joinCall: () => Promise.reject(new AppError('service_unavailable', 'Unavailable.')) },
    });
    const refused = await failureOf(Promise.resolve(retries.begin(request(), attempt(1).client)));
    expect(refused).toMatchObject({ reason: 'service_unavailable', retryAfterMs: 1000 });
    expect(seen.generated).toBe(0);
  });

  it('finds no call while the gateway stops: calls without a client end at once', async () => {
    const { retries, request } = gateway(store, { ...upstream, settings: { TOLLGATE_GATEWAY_READ_ON_TIME: '0ms' } });
    const first = attempt(0);
    const original = read((await retries.begin(request(), first.client)).steps);
    await turn();
    first.leave();
    await turn();
    retries.close();
    await original;
    expect(store.records).toMatchObject([{ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED }]);
    expect(store.keys.size).toBe(0);
  });

  it('that does not arrive lets the rule for disconnects apply to the call, without an offer', async () => {
    const time = new VirtualTime();
    const { retries, request } = gateway(store, { ...upstream, settings: { TOLLGATE_GATEWAY_READ_ON_TIME: '0ms' } }, time);
    const first = attempt(0);
    const original = read((await retries.begin(request(), first.client)).steps);
    await turn();
    first.leave();
    await time.pass(2499);
    expect([store.records.length, store.keys.size]).toEqual([0, 1]);
    await time.pass(1);
    await original;
    expect(store.records).toMatchObject([{ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED, chargeNanoUsd: 7n }]);
    expect(store.keys.size).toBe(0);
  });

  it('that disconnects while the call checks whether another gateway waits for it leaves the call to the next retry', async () => {
    const time = new VirtualTime();
    let answer: (() => void) | undefined;
    let offers = 0;
    const offerCall: typeof store.rpcs.offerCall = async (offer, ...rest) => {
      if ((offers += 1) === 2) await new Promise<void>((resolve) => (answer = resolve));
      return store.rpcs.offerCall!(offer, ...rest);
    };
    const play = { ...upstream, metering: { ...store.rpcs, offerCall }, settings: { TOLLGATE_GATEWAY_READ_ON_TIME: '0ms' } };
    const { retries, request, seen } = gateway(store, play, time);
    const first = attempt(0);
    const ended = [read((await retries.begin(request(), first.client)).steps)];
    await turn();
    first.leave();
    await time.pass(2500);
    const second = attempt(1);
    ended.push(read((await retries.begin(request(), second.client)).steps));
    second.leave();
    answer!();
    await time.pass(1000);
    ended.push(read((await retries.begin(request(), attempt(2).client)).steps));
    upstream.answer();
    await Promise.all(ended);
    expect([seen.generated, store.charged().length]).toEqual([1, 1]);
  });

  it.each([
    ['keeps the call going', false],
    ['finds the call, even if that gateway offers it a moment later because it was paused', true],
  ])('that waits at another gateway %s', async (_what, isOfferedLater) => {
    const time = new VirtualTime();
    const [one, other] = [gateway(store, upstream, time), gateway(store, {}, time)];
    const first = attempt(0);
    const original = read((await one.retries.begin(one.request(), first.client)).steps);
    await turn();
    if (!isOfferedLater) first.leave();
    const joining = other.retries.begin({ ...other.request(), key: one.request().key }, attempt(1).client) as Promise<{ callId: string }>;
    await turn();
    if (isOfferedLater) first.leave();
    await time.pass(20_000);
    expect(store.records).toEqual([]);
    upstream.answer();
    await original;
    await time.pass(1000);
    expect((await joining).callId).toBe(store.charged()[0]!.call!.id);
    expect([other.seen.generated, store.charged().length]).toEqual([0, 1]);
  });

  it.each<[string, { checkpointsMs?: number; noticedAtMs: number; newCalls: number[] }]>([
    ['joins it if its gateway continues after a pause', { noticedAtMs: 1500, newCalls: [0, 0] }],
    ['runs as a new call if its gateway is silent for too long', { noticedAtMs: 3500, newCalls: [0, 1] }],
    ['runs as a new call if its gateway goes on with it', { checkpointsMs: 1000, noticedAtMs: 3500, newCalls: [1, 1] }],
  ])('that finds its call in flight at another gateway %s', async (_what, { checkpointsMs = Infinity, noticedAtMs, newCalls }) => {
    const time = new VirtualTime();
    const one = gateway(store, upstream, time);
    const open = jest.spyOn(one.deps.checkpoints, 'open');
    const first = attempt(0);
    const original = read((await one.retries.begin(one.request(), first.client)).steps);
    await turn();
    const { call, retryKeyHash } = open.mock.calls[0]![0];
    const joinCall: typeof store.rpcs.joinCall = async (request, ...rest) => {
      const found = await store.rpcs.joinCall!(request, ...rest);
      if (found.result !== undefined || retryKeyHash!()?.equals(request.keyHash) !== true) return found;
      return { result: { $case: 'notOffered', value: { callId: call.id, checkpointAgeMs: (500 + time.monotonicMs()) % checkpointsMs } } };
    };
    const other = gateway(store, { ...upstream, metering: { ...store.rpcs, joinCall } }, time);
    const joining = Promise.resolve(other.retries.begin({ ...other.request(), key: one.request().key }, attempt(1).client));
    const retried = joining.then(({ steps }) => read(steps));
    time.later(noticedAtMs, first.leave);
    const generated: number[] = [];
    for (const ms of [1000, 2000]) {
      await time.pass(ms);
      generated.push(other.seen.generated);
    }
    expect(generated).toEqual(newCalls);
    upstream.answer();
    await time.until(Promise.all([retried, original]));
    expect(store.charged().length).toBe(1 + newCalls.at(-1)!);
  });

  it('does not wait for an identical request of which this gateway knows that its client is connected', async () => {
    const time = new VirtualTime();
    let callId = '';
    const joinCall = async (): Promise<JoinCallResponse> => ({ result: { $case: 'notOffered', value: { callId, checkpointAgeMs: 500 } } });
    const { retries, request, seen } = gateway(store, { ...upstream, metering: { ...store.rpcs, joinCall } }, time);
    const begun = await retries.begin(request(), attempt(0).client);
    callId = begun.callId;
    const original = read(begun.steps);
    await turn();
    const joining = Promise.resolve(retries.begin(request(), attempt(1).client));
    await time.pass(100);
    upstream.answer();
    await Promise.all([original, joining.then(({ steps }) => read(steps))]);
    expect(seen.generated).toBe(2);
  });

  it('does not wait at another gateway for a stream once its client has received a part of it', async () => {
    const { deps, retries, request } = gateway(store, upstream);
    const open = jest.spyOn(deps.checkpoints, 'open');
    const first = attempt(0);
    const original = read((await retries.begin(request(true), first.client)).steps);
    await turn();
    const { retryKeyHash } = open.mock.calls[0]![0];
    expect(retryKeyHash!()).toHaveLength(32);
    first.receive();
    expect(retryKeyHash!()).toBeUndefined();
    upstream.answer();
    await original;
  });

  it('is charged once, whenever its clients disconnect and whichever gateway it reaches', async () => {
    const runs = Number(process.env['TOLLGATE_TEST_RUNS'] ?? 30);
    for (let run = 0; run < runs; run += 1)
      expect([run, await retriedCall(seeded(run))]).toEqual([run, { end: 'recorded', charged: ['completed'], offers: 0 }]);
  }, 60_000);
});

/** Makes a call of a client that disconnects and retries at random, through two gateways, while the ledger and the upstream may fail; returns how it ended. */
async function retriedCall(random: Random): Promise<object> {
  const time = new VirtualTime();
  const store = new OfferStore(time, random.integer(0, 40));
  const answersAfterMs = random.integer(0, 4000);
  const hold = async (): Promise<void> => {
    await time.wait(random.pick([0, 0, random.integer(0, 3000)]));
    if (random.integer(0, 9) === 0) throw new AppError('service_unavailable', 'No.');
  };
  const generate = async function* (context: { signal: AbortSignal }): AsyncGenerator<GenerateResponse> {
    yield { events: [], accepted: {} } as unknown as GenerateResponse;
    await new Promise<void>((resolve, reject) => {
      time.later(answersAfterMs, resolve);
      context.signal.addEventListener('abort', () => reject(context.signal.reason as Error));
    });
    const failure = random.pick(['before output', 'after output', ...Array.from({ length: 8 }, () => undefined)]);
    if (failure === 'before output') throw new AppError('upstream_failed', 'No.');
    yield batch(started, ...output);
    if (failure === 'after output') throw new AppError('upstream_failed', 'No.');
    yield batch(finished);
  };
  const gateways = [gateway(store, { generate, hold }, time), gateway(store, { generate, hold }, time)];
  const { key } = gateways[0]!.request();
  const ended = (async () => {
    for (let retryCount = 0; ; retryCount += 1) {
      const { retries, request } = random.pick(gateways);
      const { client, leave, finish } = attempt(retryCount);
      const answered = (async () => read((await retries.begin({ ...request(false), key }, client)).steps))().catch(() => undefined);
      // The last attempt is patient.
      const left = retryCount === 4 ? new Promise<undefined>(() => undefined) : time.wait(random.integer(0, 1500));
      const answer = await Promise.race([answered, left]);
      if (answer?.kinds.at(-1) === 'recorded') {
        finish();
        return 'recorded';
      }
      const pauseMs = random.integer(375, 500) * 2 ** retryCount;
      // A gateway that was paused may read the disconnect only after the retry.
      if (random.integer(0, 3) === 0) time.later(pauseMs + random.integer(0, 30), leave);
      else leave();
      await time.wait(pauseMs);
    }
  })();
  const end = await time.until(ended);
  await time.pass(6000);
  return {
    end,
    charged: store.charged().map(({ outcome }) => (outcome === Outcome.OUTCOME_COMPLETED ? 'completed' : outcome)),
    offers: store.keys.size,
  };
}
