import { describe, expect, it } from '@jest/globals';
import { ManualClock } from '#kit/clock.js';
import { silentLog } from '#kit/testing/log.js';
import { CatalogFeed, watchersMax } from './feed.js';
import type { StoredCatalog } from '../store/store.js';
import { untilTrue } from '#kit/testing/waiting.js';
import { examplePrice } from '../testing/examples.js';

const empty: StoredCatalog = { revision: 1n, asOfMs: 0, models: [], prices: [] };

function feedOver(store: { revision: () => Promise<bigint>; load: () => Promise<StoredCatalog> }): CatalogFeed {
  return new CatalogFeed({ store, clock: new ManualClock(), log: silentLog, pollIntervalMs: 5, heartbeatIntervalMs: 20 });
}

describe('the feed', () => {
  it('refuses one watcher too many, and serves again when one has disconnected', async () => {
    const feed = feedOver({ revision: async () => 1n, load: async () => empty });
    await feed.start();
    const { signal } = new AbortController();
    const watchers = Array.from({ length: watchersMax }, () => feed.watch(signal));
    await Promise.all(watchers.map((watcher) => watcher.next()));
    await expect(feed.watch(signal).next()).rejects.toMatchObject({ reason: 'overloaded' });
    await watchers[0]!.return();
    expect((await feed.watch(signal).next()).value).toBe(empty);
    await feed.stop();
  });

  it('recovers from a database that could not be read for a while', async () => {
    let revision: bigint | undefined = 1n;
    const feed = feedOver({
      revision: async () => revision ?? Promise.reject(new Error('gone')),
      load: async () => ({ ...empty, revision: revision! }),
    });
    await feed.start();
    const watcher = feed.watch(new AbortController().signal);
    expect((await watcher.next()).value?.revision).toBe(1n);
    revision = undefined;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(feed.checked).toBe(false);
    revision = 2n;
    let update = await watcher.next();
    while (update.value === undefined && update.done !== true) update = await watcher.next();
    expect(update.value?.revision).toBe(2n);
    expect(feed.checked).toBe(true);
    await feed.stop();
  });

  it('does not retry an unreadable database more often because a price has started in the meantime', async () => {
    const clock = new ManualClock();
    let reads = 0;
    let isGone = false;
    const prices = [examplePrice({ effectiveFromMs: BigInt(clock.nowMs() + 60_000) })];
    const feed = new CatalogFeed({
      store: {
        revision: async () => {
          reads += 1;
          return isGone ? Promise.reject(new Error('gone')) : 1n;
        },
        load: async () => ({ ...empty, asOfMs: clock.nowMs(), prices }),
      },
      clock,
      log: silentLog,
      pollIntervalMs: 50_000,
      heartbeatIntervalMs: 20,
    });
    await feed.start();
    clock.advance(60_000);
    isGone = true;
    // The first wait began before the price started.
    feed.changed();
    await untilTrue(() => !feed.checked);
    const readsBefore = reads;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(reads).toBe(readsBefore);
    await feed.stop();
  });

  it('does not start with a database that cannot be read', async () => {
    await expect(feedOver({ revision: () => Promise.reject(new Error('gone')), load: async () => empty }).start()).rejects.toThrow('gone');
  });
});
