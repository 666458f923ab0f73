import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '#kit/log.js';
import { Account } from '#proto/auth/v1/auth.js';
import { ChangeFeed } from './change-feed.js';
import type { Change, ChangeBatch } from './store/changes.js';

/** Changes in memory, whose reading can be made to fail. */
class FakeStore {
  readonly changes: Change[] = [];
  reachable = true;

  add(...names: string[]): void {
    for (const name of names) this.changes.push({ changed: { $case: 'account', value: Account.fromPartial({ name }) } });
  }

  async lastNumber(): Promise<number> {
    return this.changes.length;
  }

  async changesAfter(after: number, changesMax: number): Promise<ChangeBatch> {
    if (!this.reachable) throw new Error('connection refused');
    const upTo = Math.min(this.changes.length, after + changesMax);
    return { changes: this.changes.slice(after, upTo), upTo, more: upTo < this.changes.length };
  }
}

const pollIntervalMs = 20;
const namesOf = (changes: readonly Change[]): string[] =>
  changes.map(({ changed }) => (changed?.$case === 'account' ? changed.value.name : '?'));
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('the change feed', () => {
  let store: FakeStore;
  let feed: ChangeFeed;
  let logLines: string[];
  const never = new AbortController().signal;

  const startFeed = async (options: { pollIntervalMs?: number; watcherQueueMax?: number; watchersMax?: number } = {}): Promise<void> => {
    feed = new ChangeFeed(
      store,
      { pollIntervalMs, ...options },
      createLogger({ name: 'auth', level: 'info' }, { write: (line) => void logLines.push(line) }),
    );
    await feed.start();
  };

  beforeEach(() => {
    store = new FakeStore();
    logLines = [];
  });
  afterEach(() => feed.stop());

  /** Opens a watch and reads its first, empty message. */
  async function openWatch(signal = never): Promise<AsyncGenerator<Change[]>> {
    const watch = feed.watch(signal);
    expect(await watch.next()).toEqual({ done: false, value: [] });
    return watch;
  }

  /** Returns the names of the next changes, skipping heartbeats. */
  async function nextNames(watch: AsyncGenerator<Change[]>): Promise<string[]> {
    for await (const changes of { [Symbol.asyncIterator]: () => ({ next: () => watch.next() }) }) {
      if (changes.length > 0) return namesOf(changes);
    }
    return [];
  }

  it('sends every change to every watcher, in order', async () => {
    await startFeed();
    const watches = [await openWatch(), await openWatch()];
    store.add('one', 'two');
    expect(await Promise.all(watches.map(nextNames))).toEqual([
      ['one', 'two'],
      ['one', 'two'],
    ]);
    store.add('three');
    expect(await Promise.all(watches.map(nextNames))).toEqual([['three'], ['three']]);
  });

  it('begins with the changes made after the start', async () => {
    store.add('long ago');
    await startFeed();
    const watch = await openWatch();
    store.add('now');
    expect(await nextNames(watch)).toEqual(['now']);
  });

  it('sends a change at once when it is woken', async () => {
    await startFeed({ pollIntervalMs: 60_000 });
    const watch = await openWatch();
    await pause(10);
    store.add('here');
    feed.wake();
    expect(await nextNames(watch)).toEqual(['here']);
  });

  it('splits many changes into messages of limited size, without a gap', async () => {
    await startFeed();
    const watch = await openWatch();
    const names = Array.from({ length: 180 }, (_, index) => `change ${index}`);
    store.add(...names);
    const seen: string[] = [];
    while (seen.length < names.length) {
      const message = await nextNames(watch);
      expect(message.length).toBeLessThanOrEqual(50);
      seen.push(...message);
    }
    expect(seen).toEqual(names);
  });

  it('sends nothing while changes cannot be read, and then sends them all', async () => {
    await startFeed();
    const watch = await openWatch();
    store.reachable = false;
    store.add('during the outage');
    await pause(2 * pollIntervalMs);
    const next = nextNames(watch);
    expect(await Promise.race([next, pause(5 * pollIntervalMs).then(() => 'silence')])).toBe('silence');
    expect(feed.upToDate).toBe(false);
    store.reachable = true;
    expect(await next).toEqual(['during the outage']);
    await pause(2 * pollIntervalMs);
    expect(feed.upToDate).toBe(true);
    expect(logLines.filter((line) => line.includes('cannot be read'))).toHaveLength(1);
    expect(logLines.filter((line) => line.includes('can be read again'))).toHaveLength(1);
  });

  it('drops only the watcher that reads too slowly', async () => {
    await startFeed({ watcherQueueMax: 3 });
    const slow = await openWatch();
    const quick = await openWatch();
    for (const name of ['one', 'two', 'three', 'four']) {
      store.add(name);
      feed.wake();
      expect(await nextNames(quick)).toEqual([name]);
    }
    await expect(slow.next()).rejects.toMatchObject({ reason: 'overloaded' });
    expect(feed.watcherCount).toBe(1);
  });

  it('removes a watcher that disconnects, even while it waits', async () => {
    await startFeed({ pollIntervalMs: 60_000 });
    const disconnect = new AbortController();
    const watch = await openWatch(disconnect.signal);
    await pause(10);
    const waiting = watch.next();
    expect(feed.watcherCount).toBe(1);
    disconnect.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(feed.watcherCount).toBe(0);
  });

  it('removes a watcher that stops reading', async () => {
    await startFeed();
    for await (const _ of feed.watch(never)) break;
    expect(feed.watcherCount).toBe(0);
  });

  it('rejects watchers above the maximum', async () => {
    await startFeed({ watchersMax: 1 });
    await openWatch();
    await expect(feed.watch(never).next()).rejects.toMatchObject({ reason: 'overloaded' });
  });

  it('ends every watch when it stops, and accepts no new one', async () => {
    await startFeed({ pollIntervalMs: 60_000 });
    const watch = await openWatch();
    await pause(10);
    const waiting = watch.next();
    await feed.stop();
    expect(await waiting).toEqual({ done: true, value: undefined });
    await expect(feed.watch(never).next()).rejects.toMatchObject({ reason: 'service_unavailable' });
  });
});
