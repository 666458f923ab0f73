import { describe, expect, it } from '@jest/globals';
import { keySearchOf, type Searched, searchPage } from './key-search.js';

const searchOf = (query: Record<string, string>) => keySearchOf(query);
const keys: Searched[] = Array.from({ length: 90 }, (_, index) => ({
  id: `key_${index}`,
  name: index % 3 === 0 ? `Server ${index}` : `laptop ${index}`,
  last_four: index === 50 ? 'wxYZ' : 'abcd',
  state: index % 2 === 0 ? 'active' : 'revoked',
}));
const read = async (pageSize: number, token: string) => {
  const start = Number(token || '0');
  return { items: keys.slice(start, start + pageSize), nextPageToken: start + pageSize < keys.length ? String(start + pageSize) : '' };
};

async function pages(query: Record<string, string>, pageSize: number): Promise<Searched[][]> {
  const found: Searched[][] = [];
  let pageToken = '';
  do {
    const page = await searchPage(searchOf(query), { pageSize, pageToken }, read);
    found.push([...page.items]);
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && found.length < 100);
  return found;
}

describe('a search for keys', () => {
  it.each<[Record<string, string>, (key: Searched) => boolean]>([
    [{}, () => true],
    [{ q: 'SERVER' }, ({ name }) => name.startsWith('Server')],
    [{ q: 'wxyz' }, ({ last_four }) => last_four === 'wxYZ'],
    [{ q: 'key_7' }, ({ id }) => id.startsWith('key_7')],
    [{ state: 'active' }, ({ state }) => state === 'active'],
    [{ state: 'active,revoked', q: 'laptop' }, ({ name }) => name.startsWith('laptop')],
    [{ state: 'expired' }, () => false],
  ])('by %j finds each key once, in order, in pages no larger than requested', async (query, matches) => {
    for (const size of [1, 7, 50, 200]) {
      const found = await pages(query, size);
      expect(found.flat()).toEqual(keys.filter(matches));
      for (const page of found) expect(page.length).toBeLessThanOrEqual(size);
    }
  });

  it('reads a limited number of pages', async () => {
    let reads = 0;
    const page = await searchPage(
      searchOf({ q: 'nothing' }),
      { pageSize: 1, pageToken: '' },
      (size, token) => ((reads += 1), read(size, token)),
    );
    expect([reads, page]).toEqual([20, { items: [], nextPageToken: '20' }]);
  });

  it.each([['state', { state: 'gone' }]])('is rejected for a malformed %s', (field, query) => {
    expect(() => searchOf(query)).toThrow(
      expect.objectContaining({ reason: 'invalid_request', details: expect.objectContaining({ field }) }),
    );
  });
});
