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

  it('are rejected with another prefix, length or alphabet', () => {
    const id = newId('acct');
    expect(isId('key', id)).toBe(false);
    expect(idToBytes('acct', id.slice(0, -1))).toBeUndefined();
    expect(isId('acct', id.toUpperCase())).toBe(false);
  });
});
