import { describe, expect, it } from '@jest/globals';
import { derivedId, idFromBytes, idTimeMs, idToBytes, isId, newId } from './id.js';

describe('ids', () => {
  it('survive a round trip to a database', () => {
    const id = newId('acct');
    expect(idFromBytes('acct', idToBytes('acct', id)!)).toBe(id);
  });

  it('sort by time', () => {
    expect(newId('req', 1_000) < newId('req', 1_001)).toBe(true);
  });

  it('that are derived from a time and a text are always the same, and no others', () => {
    const id = derivedId('evt', 1_000, 'a');
    expect([isId('evt', id), idTimeMs('evt', id)]).toEqual([true, 1_000]);
    expect(derivedId('evt', 1_000, 'a')).toBe(id);
    expect(new Set([id, derivedId('evt', 1_001, 'a'), derivedId('evt', 1_000, 'b')]).size).toBe(3);
  });

  it('keep no other memory from being freed while their bytes are cached', () => {
    const cached = Array.from({ length: 100 }, () => {
      // Other code takes memory from Node's pool, too.
      Buffer.allocUnsafe(Buffer.poolSize / 4);
      return idToBytes('req', newId('req'))!;
    });
    const blocks = new Set(cached.map(({ buffer }) => buffer));
    // The ids may be in two blocks, because the cache may have been full meanwhile.
    expect(blocks.size).toBeLessThanOrEqual(2);
  });

  it('are the same bytes as long as a caller keeps them', () => {
    const id = newId('req');
    const bytes = idToBytes('req', id)!;
    for (let count = 0; count < 10_000; count += 1) idToBytes('req', newId('req'));
    expect(idFromBytes('req', bytes)).toBe(id);
  });

  it('are rejected with another prefix, length or alphabet', () => {
    const id = newId('acct');
    expect(isId('key', id)).toBe(false);
    expect(idToBytes('acct', id.slice(0, -1))).toBeUndefined();
    expect(isId('acct', id.toUpperCase())).toBe(false);
  });
});
