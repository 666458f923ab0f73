import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Model,
  ModelState,
  PriceVersion,
  WatchCatalogResponse,
  type WatchCatalogResponse_Snapshot as Snapshot,
} from '#proto/catalog/v1/catalog.js';
import { Upstream } from '#proto/inference/v1/inference.js';
import { ManualClock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import { silentLog } from '#kit/testing/log.js';
import { untilTrue } from '#kit/testing/waiting.js';
import type { GatewayPeers } from '../peers.js';
import { createModelReplica, type ModelReplica } from './models.js';

const price = (modelId: string, fromMs: number, inputNanoUsdPerMtok: bigint): PriceVersion =>
  PriceVersion.fromPartial({ id: `price-${fromMs}`, modelId, effectiveFromMs: BigInt(fromMs), inputNanoUsdPerMtok });

describe('the model replica', () => {
  const clock = new ManualClock();
  const startMs = clock.nowMs();
  let models: ModelReplica;
  let upstreams: Upstream[];
  let failure: AppError | undefined;
  let create: () => ModelReplica;
  let push: (changes: Partial<Snapshot>) => void;

  beforeEach(async () => {
    failure = undefined;
    upstreams = [Upstream.fromPartial({ id: 'on', enabled: true }), Upstream.fromPartial({ id: 'off', enabled: false })];
    const priced = { price: price('', startMs, 1n), state: ModelState.MODEL_STATE_ACTIVE };
    const snapshot = {
      models: [
        {
          id: 'a/echo',
          aliases: ['echo'],
          targets: [
            { upstreamId: 'off', upstreamModel: 'x' },
            { upstreamId: 'on', upstreamModel: 'y' },
          ],
          ...priced,
        },
        { id: 'a/unpriced', targets: [{ upstreamId: 'on', upstreamModel: 'x' }], state: ModelState.MODEL_STATE_ACTIVE },
        { id: 'a/unserved', targets: [{ upstreamId: 'off', upstreamModel: 'x' }], ...priced },
        { id: 'a/retired', targets: [{ upstreamId: 'on', upstreamModel: 'x' }], ...priced, state: ModelState.MODEL_STATE_RETIRED },
        // An alias that is another model's id must not hide that model.
        {
          id: 'a/paused',
          targets: [{ upstreamId: 'on', upstreamModel: 'x' }],
          ...priced,
          pause: { sinceMs: startMs, untilMs: startMs + 60_000, reason: 'Maintenance.' },
        },
        { id: 'echo-two', aliases: ['a/echo'], targets: [{ upstreamId: 'on', upstreamModel: 'z' }], ...priced },
      ].map((model) => Model.fromPartial(model)),
      scheduledPrices: [price('a/echo', startMs + 1000, 2n)],
    };
    const peers = {
      catalog: {
        async *watchCatalog(_request: object, { signal }: { signal: AbortSignal }) {
          const ended = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
          for (let next: Snapshot | undefined = snapshot; next !== undefined;) {
            const pushed = new Promise<Snapshot>((resolve) => (push = (changes) => resolve({ ...snapshot, ...changes })));
            yield WatchCatalogResponse.fromPartial({ snapshot: next, heartbeatIntervalMs: 1000 });
            next = await Promise.race([pushed, ended]);
          }
        },
      },
      inference: {
        async listUpstreams() {
          if (failure !== undefined) throw failure;
          return { upstreams };
        },
      },
    } as unknown as GatewayPeers;
    create = () =>
      createModelReplica({
        ...peers,
        clock,
        log: silentLog,
        upstreamsIntervalMs: 20,
        rpcTimeoutMs: 100,
      });
    models = create();
    await models.start();
    await new Promise((resolve) => setTimeout(resolve, 10));
  });

  afterEach(() => models.stop());

  const reasonOf = (name: string): string => {
    try {
      models.resolve(name);
      return 'resolved';
    } catch (error) {
      return (error as AppError).reason;
    }
  };

  it('routes to the enabled upstreams only, in order', () => {
    expect(models.resolve('a/echo').targets).toEqual([{ upstreamId: 'on', upstreamModel: 'y' }]);
    expect(models.resolve('echo').model.id).toBe('a/echo');
  });

  it('refuses a model that is unknown, retired, unpriced or not served by any upstream', () => {
    expect(['no', 'a/retired', 'a/unpriced', 'a/unserved'].map(reasonOf)).toEqual([
      'model_unknown',
      'model_unknown',
      'model_unpriced',
      'model_unavailable',
    ]);
  });

  it('says when a model without a price in force gets one', async () => {
    expect(() => models.resolve('a/unpriced')).toThrow('`tollgate price publish`');
    push({ scheduledPrices: [price('a/unpriced', Date.UTC(2030, 0), 1n), price('a/unpriced', Date.UTC(2031, 0), 2n)] });
    await untilTrue(() => {
      try {
        models.resolve('a/unpriced');
        return false;
      } catch (error) {
        return String(error).includes('Its price takes effect at 2030-01-01T00:00:00.000Z.');
      }
    });
  });

  it('refuses calls as unavailable, rather than their model, until the catalog and the list of upstreams have arrived', async () => {
    const unavailable = expect.objectContaining({ reason: 'service_unavailable', retryAfterMs: 5000 });
    await models.stop();
    failure = new AppError('service_unavailable', 'cannot be reached');
    models = create();
    for (const read of [() => models.resolve('a/echo'), () => models.find('no'), () => models.list()]) expect(read).toThrow(unavailable);
    await models.start();
    await untilTrue(models.hasCatalog);
    const listed = models.list()[0]!;
    for (const read of [() => models.resolve('a/echo'), () => models.isServed(listed)]) expect(read).toThrow(unavailable);
    expect(models.canList()).toBe(false);
    expect(reasonOf('no')).toBe('model_unknown');
    failure = undefined;
    await untilTrue(models.isInferenceReached);
    expect(reasonOf('a/echo')).toBe('resolved');
    expect([models.isServed(listed), models.canList()]).toEqual([true, true]);
  });

  it('suggests the model that was probably meant', () => {
    expect(() => models.find('a/ecko')).toThrow('Did you mean "a/echo"?');
    expect(() => models.find('something/else')).toThrow(/^(?!.*Did you mean)/);
  });

  it('never suggests a model that is retired', () => {
    for (const name of ['a/retired', 'a/retire']) expect(() => models.find(name)).toThrow(/^(?!.*Did you mean)/);
  });

  it('switches to a scheduled price at its exact instant', () => {
    clock.advance(999);
    expect(models.resolve('a/echo').price.inputNanoUsdPerMtok).toBe(1n);
    clock.advance(1);
    expect(models.resolve('a/echo').price.inputNanoUsdPerMtok).toBe(2n);
    expect(models.list().find((model) => model.id === 'a/echo')!.price!.inputNanoUsdPerMtok).toBe(2n);
  });

  it('keeps the previous price until the next one starts by its own clock, which may be behind that of the catalog', async () => {
    const before = models.resolve('a/echo').price;
    const started = ['a/echo', 'a/unpriced'].map((modelId) => price(modelId, clock.nowMs() + 5, 3n));
    const changed = models.list().map((model) => ({ ...model, price: started.find(({ modelId }) => modelId === model.id) ?? model.price }));
    for (const displayName of ['once', 'again']) {
      push({ models: changed.map((model) => ({ ...model, displayName })), scheduledPrices: [] });
      await untilTrue(() => models.find('a/echo').displayName === displayName);
      clock.advance(2);
      expect(models.resolve('a/echo').price).toEqual(before);
      expect(models.list().find(({ id }) => id === 'a/echo')!.price).toEqual(before);
      expect(reasonOf('a/unpriced')).toBe('model_unpriced');
    }
    clock.advance(1);
    expect(['a/echo', 'a/unpriced'].map((name) => models.resolve(name).price)).toEqual(started);
  });

  it('knows the price at the start of a call also after the next price has started and arrived', async () => {
    const beganAtMs = clock.nowMs();
    const before = models.resolve('a/echo').price;
    const next = price('a/echo', beganAtMs + 10, 4n);
    const arrive = async (displayName: string, inForce: PriceVersion, ...scheduledPrices: PriceVersion[]): Promise<void> => {
      push({ models: [{ ...models.find('a/echo'), displayName, price: inForce }], scheduledPrices });
      await untilTrue(() => models.find('a/echo').displayName === displayName);
    };
    await arrive('scheduled', before, next);
    clock.advance(15);
    for (const displayName of ['started', 'again']) {
      await arrive(displayName, next);
      expect(models.resolve('a/echo', beganAtMs).price).toEqual(before);
      expect(models.resolve('a/echo', beganAtMs + 10).price).toEqual(next);
    }
  });

  it('refuses a paused model with its end and reason, lists it, and serves it again at the end', () => {
    const refused = (): unknown => {
      try {
        return models.resolve('a/paused').model.pause;
      } catch (error) {
        return error;
      }
    };
    expect(refused()).toMatchObject({
      reason: 'model_paused',
      retryAfterMs: expect.any(Number),
      details: { until: new Date(startMs + 60_000).toISOString() },
      message: expect.stringContaining('(Maintenance)'),
    });
    expect(models.resolveListed('a/paused').model.pause).toMatchObject({ reason: 'Maintenance.' });
    clock.advance(60_000);
    expect(reasonOf('a/paused')).toBe('resolved');
    expect(models.list().find(({ id }) => id === 'a/paused')!.pause).toBeUndefined();
  });

  it('sees an upstream that is enabled later', async () => {
    upstreams = [Upstream.fromPartial({ id: 'off', enabled: true })];
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(reasonOf('a/unserved')).toBe('resolved');
  });

  describe('while inference is unavailable', () => {
    const untilPolled = () => new Promise((resolve) => setTimeout(resolve, 60));

    it('reports that it cannot be reached, and keeps routing by the last list', async () => {
      expect([models.hasCatalog(), models.isInferenceReached()]).toEqual([true, true]);
      failure = new AppError('service_unavailable', 'cannot be reached');
      await untilPolled();
      expect([models.hasCatalog(), models.isInferenceReached()]).toEqual([true, false]);
      expect(reasonOf('a/echo')).toBe('resolved');
      failure = undefined;
      await untilPolled();
      expect(models.isInferenceReached()).toBe(true);
    });

    it('does not report it as unavailable when it answers with an error', async () => {
      failure = new AppError('service_unavailable', 'no database', { remote: true });
      await untilPolled();
      expect(models.isInferenceReached()).toBe(true);
    });
  });
});
