import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#kit/clock.js';
import { createTestDatabase, type TestDatabase, testEngines } from '#kit/testing/database.js';
import type { CatalogService, DeepPartial, PriceDraft, PriceVersion, PublishPriceDraftRequest } from '#proto/catalog/v1/catalog.js';
import { context, exampleCatalog, exampleModel, examplePrice, refusal } from '../testing/examples.js';

const modelId = 'acme/small';

describe.each(testEngines)('price drafts on %s', (engine) => {
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
    await service.putModel({ model: exampleModel() }, context);
  });

  afterEach(async () => {
    await stop();
    await test.drop();
  });

  const put = async (fields: DeepPartial<PriceVersion> = {}, replacesVersion?: bigint, author = 'ada@example.com'): Promise<PriceDraft> =>
    (
      await service.putPriceDraft(
        { price: examplePrice(fields), author, ...(replacesVersion === undefined ? {} : { replacesVersion }) },
        context,
      )
    ).draft!;
  const publish = async (version: bigint, more: Partial<PublishPriceDraftRequest> = {}) =>
    (await service.publishPriceDraft({ modelId, version, ...more }, context)).price!;
  const priceNow = async () => (await service.getModel({ modelId }, context)).model?.price;
  const versions = async () => (await service.listPriceVersions({ modelId }, context)).prices;
  const drafts = async () => (await service.listPriceDrafts({}, context)).drafts;

  it('change nothing until they are published, and are gone then', async () => {
    const draft = await put({ reasoningNanoUsdPerMtok: 7n });
    expect(draft).toMatchObject({
      price: examplePrice({ reasoningNanoUsdPerMtok: 7n }),
      author: 'ada@example.com',
      updatedAtMs: BigInt(clock.nowMs()),
    });
    expect(await drafts()).toEqual([draft]);
    expect([await priceNow(), await versions()]).toEqual([undefined, []]);
    clock.advance(1000);
    const price = await publish(draft.version);
    expect(price).toEqual(
      examplePrice({
        id: price.id,
        reasoningNanoUsdPerMtok: 7n,
        effectiveFromMs: BigInt(clock.nowMs()),
        createdAtMs: BigInt(clock.nowMs()),
      }),
    );
    expect([await priceNow(), await versions(), await drafts()]).toEqual([price, [price], []]);
    expect((await refusal(service.getPriceDraft({ modelId }, context))).reason).toBe('not_found');
  });

  it('are found by an alias, with what they would change', async () => {
    const first = await publish((await put()).version);
    const { draft, diff } = await service.putPriceDraft(
      { price: examplePrice({ modelId: 'small', inputNanoUsdPerMtok: 2_000_000_000n }), author: '' },
      context,
    );
    expect(draft?.price?.modelId).toBe(modelId);
    expect(diff).toMatchObject({ before: first, changes: [{ changeBasisPoints: 10_000n }, {}, {}, {}, {}, {}] });
    expect(await service.getPriceDraft({ modelId: 'small' }, context)).toEqual({ draft, diff });
  });

  it('take effect at their start, and not before', async () => {
    const old = await publish((await put()).version);
    const next = await publish((await put({ outputNanoUsdPerMtok: 1n, effectiveFromMs: BigInt(clock.nowMs() + 5000) })).version);
    expect((await service.listModels({}, context)).scheduledPrices).toEqual([next]);
    clock.advance(4999);
    expect(await priceNow()).toEqual(old);
    clock.advance(1);
    expect(await priceNow()).toEqual(next);
    expect(await versions()).toEqual([next, old]);
  });

  it('that are published twice become one price, even if another draft or price was added since', async () => {
    const { version } = await put();
    const price = await publish(version);
    clock.advance(1000);
    await publish((await put({ outputNanoUsdPerMtok: 1n })).version);
    const waiting = await put({ outputNanoUsdPerMtok: 2n });
    expect(await publish(version, { beforePriceId: '' })).toEqual(price);
    expect(await versions()).toHaveLength(2);
    expect(await drafts()).toEqual([waiting]);
  });

  it('that were changed, discarded or published meanwhile are not published', async () => {
    const seen = await put();
    const changed = await put({ outputNanoUsdPerMtok: 1n }, seen.version, 'bob@example.com');
    expect(await refusal(publish(seen.version))).toMatchObject({ reason: 'failed_precondition', details: { field: 'version' } });
    await service.deletePriceDraft({ modelId, version: changed.version }, context);
    expect((await refusal(publish(changed.version))).reason).toBe('failed_precondition');
    // A new draft never has the version of a previous one.
    expect((await put()).version).toBeGreaterThan(changed.version);
    expect((await refusal(publish(seen.version))).reason).toBe('failed_precondition');
    expect(await versions()).toEqual([]);
  });

  it('are put once if the request is repeated, even after their start', async () => {
    const units = [{ unit: 'web_search', nanoUsd: 1n, maxPerCall: 5 }];
    const fields = { effectiveFromMs: BigInt(clock.nowMs() + 5000), reasoningNanoUsdPerMtok: 7n, units };
    const draft = await put(fields, 0n);
    clock.advance(6000);
    expect(await put(fields, 0n)).toEqual(draft);
    expect(await drafts()).toEqual([draft]);
    const other = { ...fields, outputNanoUsdPerMtok: 1n, effectiveFromMs: BigInt(clock.nowMs() + 5000) };
    for (const conflict of [() => put(other, 0n), () => put(other, 0n, 'bob@example.com'), () => put(other, draft.version + 1n)])
      expect(await refusal(conflict())).toMatchObject({ reason: 'failed_precondition', details: { field: 'version' } });
    const replaced = await put(other, draft.version);
    expect(await put(other, draft.version)).toEqual(replaced);
    expect(await refusal(put(other, draft.version, 'bob@example.com'))).toMatchObject({ reason: 'failed_precondition' });
  });

  it('are kept when another request has already added the same price from the same start', async () => {
    const effectiveFromMs = BigInt(clock.nowMs() + 5000);
    const draft = await put({ effectiveFromMs });
    const { price } = await service.publishPrice({ price: examplePrice({ effectiveFromMs }) }, context);
    // The first answer may get lost: the repeat says the same.
    for (let tries = 0; tries < 2; tries += 1)
      expect(await refusal(publish(draft.version))).toMatchObject({ reason: 'already_exists', details: { rule: 'start_taken' } });
    expect([await versions(), await drafts()]).toEqual([[price], [draft]]);
  });

  it('are published once, however many callers publish at once', async () => {
    const { version } = await put();
    const prices = await Promise.all([1, 2, 3, 4].map(() => publish(version)));
    expect(new Set(prices.map(({ id }) => id)).size).toBe(1);
    expect(await versions()).toHaveLength(1);
  });

  it('are not published over a price that was added after the comparison', async () => {
    const { version } = await put();
    await service.publishPrice({ price: examplePrice({ inputNanoUsdPerMtok: 5n }) }, context);
    expect(await refusal(publish(version, { beforePriceId: '' }))).toMatchObject({
      reason: 'failed_precondition',
      details: { field: 'before_price_id', rule: 'price_changed' },
    });
    const { diff } = await service.getPriceDraft({ modelId }, context);
    clock.advance(1);
    const published = await publish(version, { beforePriceId: diff!.before!.id });
    clock.advance(1000);
    expect(await priceNow()).toEqual(published);
  });

  it('can be changed only by a caller that has seen the latest version, if the request requires it', async () => {
    const first = await put({}, 0n);
    expect((await refusal(put({ inputNanoUsdPerMtok: 2n }, 0n))).reason).toBe('failed_precondition');
    const second = await put({ inputNanoUsdPerMtok: 2n }, first.version);
    expect((await refusal(put({}, first.version))).reason).toBe('failed_precondition');
    expect((await refusal(service.deletePriceDraft({ modelId, version: first.version }, context))).reason).toBe('failed_precondition');
    expect(await drafts()).toEqual([second]);
    await service.deletePriceDraft({ modelId }, context);
    expect((await refusal(service.deletePriceDraft({ modelId }, context))).reason).toBe('not_found');
  });

  it('whose start has passed are kept and not published', async () => {
    const { version } = await put({ effectiveFromMs: BigInt(clock.nowMs() + 1000) });
    clock.advance(1001);
    expect(await refusal(publish(version))).toMatchObject({ reason: 'invalid_request', details: { field: 'effective_from_ms' } });
    expect(await drafts()).toHaveLength(1);
    expect(await versions()).toEqual([]);
  });

  it('out of bounds are rejected with the name of the field', async () => {
    expect(await refusal(put({ outputNanoUsdPerMtok: -1n }))).toMatchObject({
      reason: 'invalid_request',
      details: { field: 'price.output_nano_usd_per_mtok' },
    });
    expect(await refusal(put({ effectiveFromMs: 1n }))).toMatchObject({
      reason: 'invalid_request',
      details: { field: 'price.effective_from_ms' },
    });
    expect(await refusal(put({}, undefined, 'x'.repeat(201)))).toMatchObject({ reason: 'invalid_request', details: { field: 'author' } });
    expect((await refusal(put({ modelId: 'acme/unknown' }))).reason).toBe('model_unknown');
    expect((await refusal(service.putPriceDraft({ price: undefined, author: '' }, context))).reason).toBe('invalid_request');
    for (const call of [service.getPriceDraft, service.deletePriceDraft])
      expect((await refusal(call({ modelId: 'acme/unknown' }, context))).reason).toBe('model_unknown');
  });
});
