import { expect, it } from '@jest/globals';
import { ManualClock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import { PriceVersion } from '#proto/catalog/v1/catalog.js';
import { PriceBook } from './price-book.js';

/** Returns a book, the catalog's versions, and the models whose versions it has read. */
function bookOf(clock: ManualClock, ...published: { id: string; modelId: string; effectiveFromMs: bigint }[]) {
  const read: string[] = [];
  const catalog = {
    async listPriceVersions({ modelId }: { modelId: string }) {
      read.push(modelId);
      const prices = published.filter((version) => version.modelId === modelId);
      if (prices.length === 0) throw new AppError('model_unknown', 'no such model');
      return { prices: prices.map((version) => PriceVersion.fromPartial(version)) };
    },
  };
  return { book: new PriceBook(catalog, clock), published, read };
}

it('reads the prices of a model once for calls that began ten seconds before, on every page', async () => {
  const clock = new ManualClock();
  const { book, read } = bookOf(clock, { id: 'p1', modelId: 'a', effectiveFromMs: 1n }, { id: 'p2', modelId: 'b', effectiveFromMs: 1n });
  const startedAtMs = BigInt(clock.nowMs() - 10_000);
  for (let page = 0; page < 3; page += 1) {
    clock.advance(1000);
    const found = await book.find([
      { price: { id: 'p1', modelId: 'a' }, startedAtMs },
      { price: { id: 'p1', modelId: 'a' }, startedAtMs: startedAtMs - 5n },
      { price: { id: 'p2', modelId: 'b' }, startedAtMs },
    ]);
    expect([...found.keys()].toSorted()).toEqual(['p1', 'p2']);
  }
  expect(read).toEqual(['a', 'b']);
});

it('reads them again for a call that began later, so that it finds the version that replaced another meanwhile', async () => {
  const clock = new ManualClock();
  const { book, published, read } = bookOf(clock, { id: 'p1', modelId: 'a', effectiveFromMs: 1n });
  const find = () => book.find([{ price: { id: 'p1', modelId: 'a' }, startedAtMs: BigInt(clock.nowMs() - 10_000) }]);
  expect((await find()).get('p1')?.untilMs).toBeUndefined();
  clock.advance(1);
  const effectiveFromMs = BigInt(clock.nowMs());
  published.push({ id: 'p2', modelId: 'a', effectiveFromMs });
  expect((await find()).get('p1')?.untilMs).toBe(effectiveFromMs);
  expect(read).toEqual(['a', 'a']);
});

it('knows no price of a model that the catalog does not have', async () => {
  const clock = new ManualClock();
  const { book } = bookOf(clock);
  expect((await book.find([{ price: { id: 'p1', modelId: 'a' }, startedAtMs: 1n }])).size).toBe(0);
});
