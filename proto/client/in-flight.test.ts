import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { InFlight } from './in-flight.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;

/** Returns how many bytes remain of many short-lived items after collections of young objects only. */
function bytesLeftIn(items: { set(number: number, item: unknown): unknown; delete(number: number): boolean }): number {
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let number = 0; number < 2000; number += 1) {
    items.set(
      number,
      Array.from({ length: 5000 }, () => number),
    );
    items.delete(number - 32);
    if (number % 50 === 0) collect({ type: 'minor' });
  }
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  return process.memoryUsage().heapUsed - before;
}

describe('items in flight', () => {
  it('do not keep the memory of removed items until the whole heap is collected, as a Map does', () => {
    expect(bytesLeftIn(new InFlight())).toBeLessThan(bytesLeftIn(new Map()) / 3);
  });

  it('are listed from the oldest until they are removed', () => {
    const items = new InFlight<string>();
    for (const [number, item] of ['one', 'two', 'three'].entries()) items.set(number, item);
    expect([items.delete(1), items.delete(1), items.has(1), items.get(1)]).toEqual([true, false, false, undefined]);
    expect([items.size, items.get(2), items.values()]).toEqual([2, 'three', ['one', 'three']]);
    items.clear();
    expect([items.size, items.values()]).toEqual([0, []]);
  });
});
