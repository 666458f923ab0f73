import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#kit/clock.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import { createTestDatabase, type TestDatabase, testEngines } from '#kit/testing/database.js';
import { silentLog } from '#kit/testing/log.js';
import { type DeepPartial, type Model, ModelState } from '#proto/catalog/v1/catalog.js';
import { migrations } from '../migrations/index.js';
import { applySeed } from './apply-seed.js';
import seedFile from './models.json' with { type: 'json' };
import { parseSeed, type SeedModel } from './seed.js';
import { CatalogStore } from '../store/store.js';
import { exampleModel, examplePrice } from '../testing/examples.js';

const seedOf = (...models: DeepPartial<Model>[]): SeedModel[] =>
  models.map((fields) => {
    const model = exampleModel({ aliases: [], ...fields });
    return { model, price: examplePrice({ modelId: model.id }) };
  });

describe.each(testEngines)('applying the seed on %s', (engine) => {
  let test: TestDatabase;
  let store: CatalogStore;
  let clock: ManualClock;

  beforeEach(async () => {
    test = await createTestDatabase(engine);
    await migrate(test.db, migrations);
    store = new CatalogStore(test.db, { append: async () => undefined });
    clock = new ManualClock();
  });

  afterEach(() => test.drop());

  const apply = (seed: SeedModel[]) => applySeed(seed, { store, clock, log: silentLog });
  const stored = async (id: string) => (await store.load(clock.nowMs())).models.find(({ model }) => model.id === id)?.model;
  const put = (fields: DeepPartial<Model>, exists: boolean) =>
    store.change((change) => {
      const next = { origin: 'operator', model: exampleModel({ aliases: [], ...fields }) } as const;
      return exists ? change.updateModel(next) : change.insertModel(next);
    });

  it('fills an empty catalog with models that have a price from now on', async () => {
    await apply(seedOf({ id: 'acme/small' }, { id: 'acme/large' }));
    const { models, prices } = await store.load(clock.nowMs());
    expect(models.map(({ model }) => model.id)).toEqual(['acme/large', 'acme/small']);
    expect(prices.map(({ modelId, effectiveFromMs }) => [modelId, effectiveFromMs]).sort()).toEqual([
      ['acme/large', BigInt(clock.nowMs())],
      ['acme/small', BigInt(clock.nowMs())],
    ]);
  });

  it('changes nothing at the next start', async () => {
    const seed = seedOf({ id: 'acme/small', aliases: ['small'] }, { id: 'acme/large' });
    await apply(seed);
    const before = await store.load(clock.nowMs());
    clock.advance(1000);
    await apply(seed);
    expect(await store.load(clock.nowMs())).toEqual({ ...before, asOfMs: clock.nowMs() });
  });

  it('changes nothing at the next start with the seed file of this release', async () => {
    const seed = parseSeed(seedFile);
    await apply(seed);
    const before = await store.revision();
    await apply(seed);
    expect(await store.revision()).toBe(before);
  });

  it('adds the models of a new release, priced from then on', async () => {
    await apply(seedOf({ id: 'acme/small' }));
    clock.advance(1000);
    await apply(seedOf({ id: 'acme/small' }, { id: 'acme/large' }));
    expect((await store.prices('acme/large'))[0]?.effectiveFromMs).toBe(BigInt(clock.nowMs()));
    expect(await store.prices('acme/small')).toHaveLength(1);
  });

  it('updates the fields of a model that no operator has changed, but never its price', async () => {
    await apply(seedOf({ id: 'acme/small' }));
    const createdAtMs = (await stored('acme/small'))?.createdAtMs;
    clock.advance(1000);
    const [renewed] = seedOf({ id: 'acme/small', description: 'Now better.' });
    await apply([{ ...renewed!, price: examplePrice({ outputNanoUsdPerMtok: 1n }) }]);
    expect(await stored('acme/small')).toMatchObject({ description: 'Now better.', createdAtMs });
    expect((await store.prices('acme/small')).map(({ outputNanoUsdPerMtok }) => outputNanoUsdPerMtok)).toEqual([5_000_000_000n]);
  });

  it('does not change what an operator has put', async () => {
    await apply(seedOf({ id: 'acme/small' }));
    await put({ id: 'acme/small', displayName: 'Ours', state: ModelState.MODEL_STATE_RETIRED }, true);
    await apply(seedOf({ id: 'acme/small', description: 'Now better.' }));
    expect(await stored('acme/small')).toMatchObject({
      displayName: 'Ours',
      state: ModelState.MODEL_STATE_RETIRED,
      description: 'Small and quick.',
    });
  });

  it('does not take names that operators have given to other models', async () => {
    await put({ id: 'acme/mine', aliases: ['small', 'acme/large'] }, false);
    await apply(seedOf({ id: 'acme/small', aliases: ['small', 'little'] }, { id: 'acme/large' }));
    expect((await stored('acme/small'))?.aliases).toEqual(['little']);
    expect(await stored('acme/large')).toBeUndefined();
    expect((await stored('acme/mine'))?.aliases).toEqual(['small', 'acme/large']);
  });

  it('applies it once when replicas start together', async () => {
    const seed = seedOf({ id: 'acme/small' }, { id: 'acme/large' });
    await Promise.all([apply(seed), apply(seed), apply(seed)]);
    expect((await store.load(clock.nowMs())).models).toHaveLength(2);
    expect(await store.prices('acme/small')).toHaveLength(1);
  });
});
