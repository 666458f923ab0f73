import { describe, expect, it } from '@jest/globals';
import { BatchLane } from './batch-lane.js';
import { callContext } from '#client/call-context.js';

/** Returns a lane over a fake database that stores each item at most once and rejects poisoned items. */
function lane(options: { batchMax?: number; queueMax?: number; down?: boolean } = {}) {
  const batches: string[][] = [];
  const stored: string[] = [];
  const subject = new BatchLane<string, string>({
    name: 'items',
    apply: async (items) => {
      batches.push([...items]);
      await new Promise((resolve) => setTimeout(resolve, 2));
      if (options.down === true) throw new Error('down');
      if (items.some((item) => item.startsWith('poison'))) throw new Error('poisoned');
      stored.push(...items);
      return items.map((item) => item.toUpperCase());
    },
    isOfOneItem: (error) => (error as Error).message === 'poisoned',
    batchMax: options.batchMax ?? 100,
    queueMax: options.queueMax ?? 100,
  });
  return { subject, batches, stored };
}

describe('a lane', () => {
  it('batches the items that arrive together, and those that queued up during a batch', async () => {
    const { subject, batches } = lane();
    const first = [subject.add('a'), subject.add('b')];
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([...first, subject.add('c'), subject.add('d')]);
    expect(batches).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  it('returns to each item its own outcome', async () => {
    const { subject } = lane({ batchMax: 2 });
    expect(await Promise.all(['a', 'b', 'c'].map((item) => subject.add(item)))).toEqual(['A', 'B', 'C']);
  });

  it('fails only the poisoned items of a batch', async () => {
    const { subject, stored } = lane();
    const results = await Promise.allSettled(['a', 'poison-1', 'b', 'poison-2', 'c'].map((item) => subject.add(item)));
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled']);
    expect(stored).toEqual(['a', 'b', 'c']);
  });

  it('finds the poisoned items of a full batch without trying each one alone', async () => {
    const { subject, batches, stored } = lane();
    const items = Array.from({ length: 64 }, (_, index) => (index === 40 ? 'poison' : `item-${index}`));
    const results = await Promise.allSettled(items.map((item) => subject.add(item)));
    expect(results.flatMap((result, index) => (result.status === 'rejected' ? [index] : []))).toEqual([40]);
    expect(stored).toEqual(items.filter((item) => item !== 'poison'));
    expect(batches.length).toBeLessThan(16);
  });

  it('skips items whose caller has stopped waiting before their turn', async () => {
    const { subject, stored } = lane();
    const running = subject.add('running');
    await new Promise((resolve) => setImmediate(resolve));
    const caller = new AbortController();
    const results = Promise.allSettled([
      subject.add('left', callContext({ caller: 'test', signal: caller.signal })),
      subject.add('late', callContext({ caller: 'test', timeoutMs: 0 })),
      subject.add('in time', callContext({ caller: 'test', timeoutMs: 60_000 })),
    ]);
    caller.abort();
    expect(await results).toMatchObject([
      { status: 'rejected', reason: { reason: 'cancelled' } },
      { status: 'rejected', reason: { reason: 'deadline_exceeded' } },
      { status: 'fulfilled' },
    ]);
    await running;
    expect(stored).toEqual(['running', 'in time']);
  });

  it('does not try items one by one when none of them is at fault', async () => {
    const { subject, batches } = lane({ down: true });
    const results = await Promise.allSettled(['a', 'b', 'c'].map((item) => subject.add(item)));
    expect(results.every((result) => result.status === 'rejected')).toBe(true);
    expect(batches).toHaveLength(1);
  });

  it('keeps its batches and its queue within their limits', async () => {
    const { subject, batches } = lane({ batchMax: 2, queueMax: 4 });
    const results = await Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map((item) => subject.add(item)));
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    expect((results[4] as PromiseRejectedResult).reason).toMatchObject({ reason: 'overloaded' });
    expect(batches).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  it('is idle when every added item is done', async () => {
    const { subject, stored } = lane({ batchMax: 1 });
    void subject.add('a');
    void subject.add('b');
    await subject.idle();
    expect(stored).toEqual(['a', 'b']);
    await subject.idle();
  });
});
