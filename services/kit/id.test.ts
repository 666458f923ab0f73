import { describe, expect, it } from '@jest/globals';
import { idFromBytes, idToBytes, isId, newId } from './id.js';

describe('ids', () => {
  it('survive a round trip to a database', () => {
    const id = newId('acct');
    expect(idFromBytes('acct', idToBytes('acct', id)!)).toBe(id);
  });

  it('sort by time', () => {
    expect(newId('req', 1_000) < newId('req', 1_001)).toBe(true);
  });

  it('are rejected with another prefix, length or alphabet', () => {
    const id = newId('acct');
    expect(isId('key', id)).toBe(false);
    expect(idToBytes('acct', id.slice(0, -1))).toBeUndefined();
    expect(isId('acct', id.toUpperCase())).toBe(false);
  });
});
