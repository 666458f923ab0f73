import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isDuplicate } from '#kit/db/errors.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import { newId } from '#kit/id.js';
import { createTestDatabase, type TestDatabase, testEngines } from '#kit/testing/database.js';
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import { migrations } from '../migrations/index.js';
import { unitPriceNanoUsdMax } from '#rules/money/pricing.js';
import { CatalogStore } from './store.js';
import { exampleModel, examplePrice } from '../testing/examples.js';

describe.each(testEngines)('the store on %s', (engine) => {
  let test: TestDatabase;
  let store: CatalogStore;

  beforeEach(async () => {
    test = await createTestDatabase(engine);
    await migrate(test.db, migrations);
    store = new CatalogStore(test.db, { append: async () => undefined });
  });

  afterEach(() => test.drop());

  const addModel = (fields = {}) =>
    store.change((change) => change.insertModel({ origin: 'operator', model: exampleModel({ createdAtMs: 5n, ...fields }) }));
  const addPrice = async (effectiveFromMs: bigint, fields = {}): Promise<PriceVersion> => {
    const price = examplePrice({ id: newId('price'), effectiveFromMs, createdAtMs: 6n, ...fields });
    await store.change((change) => change.insertPrice(price));
    return price;
  };

  it('returns models and prices as they were stored', async () => {
    await addModel();
    // More than a JSON number holds.
    const units = [{ unit: 'image', nanoUsd: 99_999_999_999_999_999n, maxPerCall: 1 }];
    const price = await addPrice(100n, { reasoningNanoUsdPerMtok: 7n, outputNanoUsdPerMtok: unitPriceNanoUsdMax, units });
    const catalog = await store.load(100);
    expect(catalog.models).toEqual([{ origin: 'operator', model: exampleModel({ createdAtMs: 5n }) }]);
    expect(catalog.prices).toEqual([price]);
  });

  it('replaces a model as a whole', async () => {
    await addModel();
    const next = exampleModel({ displayName: 'Renamed', aliases: [], capabilities: [], outputLimitTokens: 1, createdAtMs: 5n });
    await store.change((change) => change.updateModel({ origin: 'seed', model: next }));
    expect((await store.load(100)).models).toEqual([{ origin: 'seed', model: next }]);
  });

  it('loads the price in force and the scheduled ones of each model', async () => {
    await addModel();
    await addModel({ id: 'acme/large', aliases: [] });
    await addPrice(100n);
    const small = await addPrice(200n);
    const smallNext = await addPrice(400n);
    const large = await addPrice(300n, { modelId: 'acme/large' });
    expect(new Set((await store.load(300)).prices)).toEqual(new Set([small, smallNext, large]));
  });

  it('lists all versions of one model, the latest start first', async () => {
    const old = await addPrice(100n);
    const later = await addPrice(300n);
    const middle = await addPrice(200n);
    await addPrice(200n, { modelId: 'acme/large' });
    expect(await store.prices('acme/small')).toEqual([later, middle, old]);
  });

  it('never has two prices of one model that start together', async () => {
    await addPrice(100n);
    await addPrice(100n).then(
      () => expect('stored').toBe('refused'),
      (error) => expect(isDuplicate(error)).toBe(true),
    );
  });

  it('increments its revision with every change that writes, and only then', async () => {
    const before = await store.revision();
    await addModel();
    expect(await store.revision()).toBe(before + 1n);
    await store.change((change) => change.models());
    expect(await store.revision()).toBe(before + 1n);
  });

  it('keeps nothing of a change that fails', async () => {
    const before = await store.revision();
    const failing = store.change(async (change) => {
      await change.insertModel({ origin: 'operator', model: exampleModel() });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await store.revision()).toBe(before);
    expect((await store.load(0)).models).toEqual([]);
  });

  it('serialises concurrent changes, so that each sees the result of the previous one', async () => {
    const addNext = () =>
      store.change(async (change) => {
        const id = `acme/model-${(await change.models()).length}`;
        await change.insertModel({ origin: 'operator', model: exampleModel({ id, aliases: [] }) });
      });
    await Promise.all(Array.from({ length: 6 }, addNext));
    expect((await store.load(0)).models.map(({ model }) => model.id)).toEqual([0, 1, 2, 3, 4, 5].map((index) => `acme/model-${index}`));
    expect(await store.revision()).toBe(6n);
  });
});
