import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#kit/clock.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import { callContext } from '#client/call-context.js';
import { createTestDatabase, type TestDatabase, testEngines } from '#kit/testing/database.js';
import type { CatalogService, WatchCatalogResponse } from '#proto/catalog/v1/catalog.js';
import { eventually } from '#kit/testing/waiting.js';
import { context, exampleCatalog, exampleModel, examplePrice } from '../testing/examples.js';

/** One watch that is read message by message. */
class Watch {
  readonly #leaving = new AbortController();
  readonly #messages: AsyncIterator<WatchCatalogResponse>;

  constructor(service: CatalogService) {
    this.#messages = service.watchCatalog({}, callContext({ caller: 'gateway', signal: this.#leaving.signal }))[Symbol.asyncIterator]();
  }

  /** Returns the next message, or undefined at the end; fails after 20 seconds, which only a failing test takes. */
  async message(limitMs = 20_000): Promise<WatchCatalogResponse | undefined> {
    const next = await within(limitMs, this.#messages.next());
    return next.done === true ? undefined : next.value;
  }

  /** Returns the next message that is not a heartbeat. */
  async snapshot() {
    for (;;) {
      const message = await this.message();
      if (message === undefined) throw new Error('The watch has ended.');
      if (message.snapshot !== undefined) return message.snapshot;
    }
  }

  leave(): void {
    this.#leaving.abort();
  }
}

function within<T>(limitMs: number, pending: Promise<T>): Promise<T> {
  return Promise.race([
    pending,
    new Promise<never>((_, reject) => setTimeout(() => reject(new Error(`Nothing came within ${limitMs} ms.`)), limitMs).unref()),
  ]);
}

describe.each(testEngines)('watching the catalog on %s', (engine) => {
  let test: TestDatabase;
  let clock: ManualClock;
  let catalog: ServiceModule<CatalogService>;
  const ends: (() => Promise<void>)[] = [];

  const startReplica = async (db: Database, config = {}): Promise<ServiceModule<CatalogService>> => {
    const replica = exampleCatalog(db, { clock, config });
    await replica.start();
    ends.push(() => replica.stop());
    return replica;
  };

  beforeEach(async () => {
    test = await createTestDatabase(engine);
    clock = new ManualClock();
    catalog = await startReplica(test.db);
    await catalog.service.putModel({ model: exampleModel() }, context);
  });

  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
    await test.drop();
  });

  it('shows everything at once', async () => {
    const price = (await catalog.service.publishPrice({ price: examplePrice() }, context)).price!;
    const scheduled = (
      await catalog.service.publishPrice({ price: examplePrice({ effectiveFromMs: BigInt(clock.nowMs() + 1000) }) }, context)
    ).price!;
    const replica = await startReplica(test.db);
    expect(await new Watch(replica.service).snapshot()).toEqual({
      models: [exampleModel({ createdAtMs: BigInt(clock.nowMs()), price })],
      scheduledPrices: [scheduled],
    });
  });

  it('shows a change of this process without waiting for a poll', async () => {
    const slowPoller = await startReplica(test.db, { pollIntervalMs: 60_000 });
    const watch = new Watch(slowPoller.service);
    await watch.snapshot();
    await slowPoller.service.putModel({ model: exampleModel({ displayName: 'Renamed' }) }, context);
    expect((await watch.snapshot()).models[0]?.displayName).toBe('Renamed');
    await slowPoller.service.publishPrice({ price: examplePrice() }, context);
    expect((await watch.snapshot()).models[0]?.price?.outputNanoUsdPerMtok).toBe(5_000_000_000n);
  });

  it('shows what another replica changed within a second, at the default interval', async () => {
    const otherDb = openDatabase(test.url);
    ends.push(() => otherDb.close());
    const other = await startReplica(otherDb, { pollIntervalMs: 250 });
    const watch = new Watch(other.service);
    await watch.snapshot();
    await catalog.service.publishPrice({ price: examplePrice() }, context);
    expect((await watch.snapshot()).models[0]?.price?.outputNanoUsdPerMtok).toBe(5_000_000_000n);
  });

  it('shows a scheduled price when it starts, and no longer as scheduled', async () => {
    await catalog.service.publishPrice({ price: examplePrice({ effectiveFromMs: BigInt(clock.nowMs() + 5000) }) }, context);
    const replica = await startReplica(test.db);
    const watch = new Watch(replica.service);
    const before = await watch.snapshot();
    expect(before.models[0]?.price).toBeUndefined();
    expect(before.scheduledPrices).toHaveLength(1);
    clock.advance(5000);
    const after = await watch.snapshot();
    expect(after.models[0]?.price).toEqual(before.scheduledPrices[0]);
    expect(after.scheduledPrices).toEqual([]);
  });

  it('sends heartbeats at least as often as announced while nothing changes', async () => {
    const replica = await startReplica(test.db, { heartbeatIntervalMs: 2000 });
    const watch = new Watch(replica.service);
    await watch.snapshot();
    const before = performance.now();
    expect(await watch.message()).toEqual({ snapshot: undefined, heartbeatIntervalMs: 2000 });
    expect(performance.now() - before).toBeLessThan(2000);
  });

  it('sends a slow watcher the latest catalog, not every one in between', async () => {
    const watch = new Watch(catalog.service);
    await watch.snapshot();
    for (const displayName of ['One', 'Two', 'Three']) await catalog.service.putModel({ model: exampleModel({ displayName }) }, context);
    await eventually(async () => {
      const other = new Watch(catalog.service);
      const [model] = (await other.snapshot()).models;
      other.leave();
      return model?.displayName === 'Three' ? true : undefined;
    });
    expect((await watch.snapshot()).models[0]?.displayName).toBe('Three');
    expect((await watch.message())?.snapshot).toBeUndefined();
  });

  it('ends at once when the service stops', async () => {
    const replica = await startReplica(test.db, { heartbeatIntervalMs: 60_000 });
    const watch = new Watch(replica.service);
    await watch.snapshot();
    const next = watch.message();
    await replica.stop();
    expect(await next).toBeUndefined();
  });

  it('ends at once when the watcher disconnects', async () => {
    const replica = await startReplica(test.db, { heartbeatIntervalMs: 60_000 });
    const watch = new Watch(replica.service);
    await watch.snapshot();
    const next = watch.message();
    watch.leave();
    expect(await next).toBeUndefined();
  });

  it('falls silent and is not ready while the database cannot be read', async () => {
    const otherDb = openDatabase(test.url);
    const replica = await startReplica(otherDb, { heartbeatIntervalMs: 40 });
    const watch = new Watch(replica.service);
    await watch.snapshot();
    expect(await replica.ready()).toEqual({ ok: true });
    await otherDb.close();
    await eventually(async () => ((await replica.ready()).ok ? undefined : true));
    await expect(watch.message(1000)).rejects.toThrow('Nothing came');
  });
});
