import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#kit/clock.js';
import { createTestDatabase, type TestDatabase, testEngines } from '#kit/testing/database.js';
import { type CatalogService, type DeepPartial, type Model, ModelState, type PriceVersion } from '#proto/catalog/v1/catalog.js';
import { context, exampleCatalog, exampleModel, examplePrice, refusal } from './testing/examples.js';

describe.each(testEngines)('the catalog on %s', (engine) => {
  let test: TestDatabase;
  let clock: ManualClock;
  let service: CatalogService;
  let stop: () => Promise<void>;

  beforeEach(async () => {
    test = await createTestDatabase(engine);
    clock = new ManualClock();
    const catalog = exampleCatalog(test.db, { clock });
    await catalog.start();
    ({ service } = catalog);
    stop = catalog.stop;
  });

  afterEach(async () => {
    await stop();
    await test.drop();
  });

  const put = async (fields: DeepPartial<Model> = {}) => (await service.putModel({ model: exampleModel(fields) }, context)).model!;
  const publish = async (fields: DeepPartial<PriceVersion> = {}) =>
    (await service.publishPrice({ price: examplePrice(fields) }, context)).price!;
  const priceNow = async () => (await service.getModel({ modelId: 'acme/small' }, context)).model?.price;

  describe('putting a model', () => {
    it('creates it, unpriced', async () => {
      const created = await put();
      expect(created).toEqual(exampleModel({ createdAtMs: BigInt(clock.nowMs()) }));
      expect((await service.listModels({}, context)).models).toEqual([created]);
    });

    it('replaces all of its fields except its creation time and its prices', async () => {
      const { createdAtMs } = await put();
      const price = await publish();
      clock.advance(1000);
      const replaced = await put({
        displayName: 'Renamed',
        aliases: [],
        state: ModelState.MODEL_STATE_RETIRED,
        price: { inputNanoUsdPerMtok: 1n },
      });
      expect(replaced).toEqual(
        exampleModel({ displayName: 'Renamed', aliases: [], state: ModelState.MODEL_STATE_RETIRED, createdAtMs, price }),
      );
      expect((await service.listModels({}, context)).models).toEqual([replaced]);
    });

    it('changes only the fields of the mask, whatever the other fields of the request', async () => {
      await put();
      const change = (fields: DeepPartial<Model>, updateMask: string[]) =>
        service.putModel({ model: exampleModel(fields), updateMask }, context);
      await Promise.all([
        change({ state: ModelState.MODEL_STATE_RETIRED }, ['state']),
        change({ displayName: 'Renamed', hedgeAfterMs: undefined }, ['display_name', 'hedge_after_ms']),
      ]);
      const { model } = await service.getModel({ modelId: 'acme/small' }, context);
      const changes = { state: ModelState.MODEL_STATE_RETIRED, displayName: 'Renamed', hedgeAfterMs: undefined };
      expect(model).toEqual(exampleModel({ ...changes, createdAtMs: model!.createdAtMs }));
      for (const mask of [[], ['id'], ['price'], ['state', 'toString']])
        expect(await refusal(change({}, mask))).toMatchObject({ reason: 'invalid_request', details: { field: 'update_mask' } });
      expect(await refusal(change({ outputLimitTokens: 0 }, ['output_limit_tokens']))).toMatchObject({
        details: { field: 'model.output_limit_tokens' },
      });
      expect(await refusal(change({ id: 'acme/none' }, ['state']))).toMatchObject({ reason: 'model_unknown' });
    });

    it('creates it only if no other has its id, when the caller requests that, even if several callers do so at once', async () => {
      const create = async (displayName: string) =>
        (await service.putModel({ model: exampleModel({ displayName }), createOnly: true }, context)).model;
      const outcomes = await Promise.allSettled(['First', 'Second', 'Third'].map(create));
      const created = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      const exists = { reason: 'already_exists', details: { field: 'model.id', rule: 'model_exists', id: 'acme/small' } };
      expect(created).toHaveLength(1);
      for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(exists);
      expect(await refusal(create('Fourth'))).toMatchObject(exists);
      expect((await service.listModels({}, context)).models).toEqual(created);
    });

    it('refuses a field out of bounds and names it', async () => {
      expect(await refusal(put({ outputLimitTokens: 0 }))).toMatchObject({
        reason: 'invalid_request',
        details: { field: 'model.output_limit_tokens' },
      });
      expect(await refusal(service.putModel({ model: undefined }, context))).toMatchObject({
        reason: 'invalid_request',
        details: { field: 'model' },
      });
    });

    it.each<[string, DeepPartial<Model>, string]>([
      ['an alias that is an id', { aliases: ['acme/small'] }, 'model.aliases'],
      ['an alias that is an alias', { aliases: ['small'] }, 'model.aliases'],
      ['an id that is an alias', { id: 'small', aliases: [] }, 'model.id'],
    ])('refuses %s of another model', async (_, fields, field) => {
      await put();
      expect(await refusal(put({ id: 'acme/other', ...fields }))).toMatchObject({
        reason: 'already_exists',
        details: { field, rule: 'name_taken' },
      });
    });

    it('gives each name to one model only, however many callers request it at once', async () => {
      const outcomes = await Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => put({ id: `acme/${name}`, aliases: ['best'] })));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect((await service.listModels({}, context)).models).toHaveLength(1);
    });
  });

  describe('getting a model', () => {
    it('finds it by its id and by an alias, under its own id', async () => {
      await put();
      expect((await service.getModel({ modelId: 'acme/small' }, context)).model?.id).toBe('acme/small');
      expect((await service.getModel({ modelId: 'small' }, context)).model?.id).toBe('acme/small');
    });

    it('refuses a name that no model has', async () => {
      expect((await refusal(service.getModel({ modelId: 'acme/small' }, context))).reason).toBe('model_unknown');
    });
  });

  describe('publishing a price', () => {
    beforeEach(() => put());

    it('puts it in force now when it has no start', async () => {
      const price = await publish();
      expect(price).toEqual(examplePrice({ id: price.id, effectiveFromMs: BigInt(clock.nowMs()), createdAtMs: BigInt(clock.nowMs()) }));
      expect(price.id).toMatch(/^price_[0-9a-f]{32}$/);
      expect(await priceNow()).toEqual(price);
    });

    it('schedules one that replaces another a moment ahead, and pushes it before it starts', async () => {
      const old = await publish();
      const watching = service.watchCatalog({}, context)[Symbol.asyncIterator]();
      await watching.next();
      const next = await publish({ outputNanoUsdPerMtok: 1n });
      expect(next.effectiveFromMs).toBe(BigInt(clock.nowMs() + 1000));
      // The previous change may be pushed first.
      let pushed = (await watching.next()).value;
      while (!pushed.snapshot?.scheduledPrices.length) pushed = (await watching.next()).value;
      expect(pushed.snapshot).toMatchObject({ models: [{ price: old }], scheduledPrices: [next] });
      await watching.return?.();
      clock.advance(1000);
      expect(await priceNow()).toEqual(next);
    });

    it('puts a scheduled one in force at its start and not a millisecond earlier', async () => {
      const old = await publish();
      const next = await publish({ effectiveFromMs: BigInt(clock.nowMs() + 5000), outputNanoUsdPerMtok: 1n, reasoningNanoUsdPerMtok: 2n });
      clock.advance(4999);
      expect(await priceNow()).toEqual(old);
      clock.advance(1);
      expect(await priceNow()).toEqual(next);
    });

    it('accepts a start at the current millisecond and refuses an earlier one', async () => {
      expect(await refusal(publish({ effectiveFromMs: BigInt(clock.nowMs() - 1) }))).toMatchObject({
        reason: 'invalid_request',
        details: { field: 'price.effective_from_ms' },
      });
      const price = await publish({ effectiveFromMs: BigInt(clock.nowMs()) });
      expect(await priceNow()).toEqual(price);
    });

    it('refuses a start in the wrong unit', async () => {
      expect((await refusal(publish({ effectiveFromMs: BigInt(clock.nowMs()) * 1000n }))).reason).toBe('invalid_request');
    });

    it('returns the existing version to a repeat, even after its start', async () => {
      const start = BigInt(clock.nowMs() + 1000);
      const price = await publish({ effectiveFromMs: start });
      clock.advance(2000);
      expect(await publish({ effectiveFromMs: start })).toEqual(price);
      expect((await service.listPriceVersions({ modelId: 'acme/small' }, context)).prices).toHaveLength(1);
    });

    it('never changes a version: a different price with the same start is refused', async () => {
      const start = BigInt(clock.nowMs() + 1000);
      await publish({ effectiveFromMs: start });
      expect((await refusal(publish({ effectiveFromMs: start, outputNanoUsdPerMtok: 1n }))).reason).toBe('already_exists');
    });

    it('refuses unit prices out of bounds and models that do not exist', async () => {
      expect(await refusal(publish({ inputNanoUsdPerMtok: -1n }))).toMatchObject({
        reason: 'invalid_request',
        details: { field: 'price.input_nano_usd_per_mtok' },
      });
      expect((await refusal(publish({ modelId: 'acme/unknown' }))).reason).toBe('model_unknown');
      expect(await refusal(service.publishPrice({ price: undefined }, context))).toMatchObject({
        reason: 'invalid_request',
        details: { field: 'price' },
      });
    });
  });

  describe('listing price versions', () => {
    it('shows past, present and future ones, the latest start first, also by an alias', async () => {
      await put();
      const past = await publish();
      clock.advance(1000);
      const present = await publish({ outputNanoUsdPerMtok: 1n });
      const future = await publish({ effectiveFromMs: BigInt(clock.nowMs() + 5000) });
      expect((await service.listPriceVersions({ modelId: 'small' }, context)).prices).toEqual([future, present, past]);
    });

    it('refuses a model that does not exist', async () => {
      expect((await refusal(service.listPriceVersions({ modelId: 'acme/small' }, context))).reason).toBe('model_unknown');
    });
  });

  describe('a pause', () => {
    const pause = (untilMs: bigint, reason = 'Maintenance') => service.pauseModel({ modelId: 'small', untilMs, reason }, context);
    const present = async () => (await service.getModel({ modelId: 'acme/small' }, context)).model!.pause;

    it('keeps its start when it is changed, survives a change of the model, and ends automatically', async () => {
      await put({ aliases: ['small'] });
      const sinceMs = BigInt(clock.nowMs());
      const untilMs = sinceMs + 60_000n;
      expect((await pause(0n)).model!.pause).toEqual({ sinceMs, untilMs: 0n, reason: 'Maintenance' });
      clock.advance(10);
      expect((await pause(untilMs)).model!.pause).toEqual({ sinceMs, untilMs, reason: 'Maintenance' });
      await put({ displayName: 'Renamed', aliases: ['small'] });
      expect(await present()).toMatchObject({ untilMs });
      clock.advance(60_000);
      expect(await present()).toBeUndefined();
      expect((await put({ aliases: ['small'] })).pause).toBeUndefined();
    });

    it('is ended by an operator', async () => {
      await put({ aliases: ['small'] });
      await pause(0n);
      for (let turn = 0; turn < 2; turn += 1)
        expect((await service.resumeModel({ modelId: 'acme/small' }, context)).model!.pause).toBeUndefined();
    });

    it('refuses an end in the past and a long reason', async () => {
      await put({ aliases: ['small'] });
      expect(await refusal(pause(BigInt(clock.nowMs())))).toMatchObject({ details: { field: 'until_ms' } });
      expect(await refusal(pause(0n, 'x'.repeat(201)))).toMatchObject({ details: { field: 'reason' } });
      expect(await refusal(service.resumeModel({ modelId: 'acme/none' }, context))).toMatchObject({ reason: 'model_unknown' });
    });
  });

  it('starts with the models of this release, and starts again without a change', async () => {
    const seeded = exampleCatalog(test.db, { clock, config: { seed: true } });
    await seeded.start();
    await seeded.stop();
    const { models } = await service.listModels({}, context);
    expect(models.find(({ id }) => id === 'sandbox/echo')?.price?.inputNanoUsdPerMtok).toBe(100_000_000n);
    expect(models.filter(({ price }) => price === undefined)).toEqual([]);
    clock.advance(60_000);
    const again = exampleCatalog(test.db, { clock, config: { seed: true } });
    await again.start();
    await again.stop();
    expect((await service.listModels({}, context)).models).toEqual(models);
  });
});
