import { describe, expect, it } from '@jest/globals';
import type { KeyStateWord } from '#rules/keys/key-state-words.js';
import { keySearchOf, type Searched, searchPage } from './key-search.js';

const searchOf = (query: Record<string, string>) => keySearchOf(query);
type Key = Searched & { readonly state: KeyStateWord };
const keys: Key[] = Array.from({ length: 90 }, (_, index) => ({
  id: `key_${index}`,
  name: index % 3 === 0 ? `Server ${index}` : `laptop ${index}`,
  lastFour: index === 50 ? 'wxYZ' : 'abcd',
  state: index % 2 === 0 ? 'active' : 'revoked',
}));
const read = async (pageSize: number, token: string) => {
  const start = Number(token || '0');
  return { items: keys.slice(start, start + pageSize), nextPageToken: start + pageSize < keys.length ? String(start + pageSize) : '' };
};
const render = async (found: readonly Key[]) => found;

async function pages(query: Record<string, string>, pageSize: number): Promise<Key[][]> {
  const found: Key[][] = [];
  let pageToken = '';
  do {
    const page = await searchPage(searchOf(query), { pageSize, pageToken }, read, render);
    found.push([...page.items]);
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && found.length < 100);
  return found;
}

describe('a search for keys', () => {
  it.each<[Record<string, string>, (key: Key) => boolean]>([
    [{}, () => true],
    [{ q: 'SERVER' }, ({ name }) => name.startsWith('Server')],
    [{ q: 'wxyz' }, ({ lastFour }) => lastFour === 'wxYZ'],
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
      render,
    );
    expect([reads, page]).toEqual([20, { items: [], nextPageToken: '20' }]);
  });

  it('renders only keys that contain the text', async () => {
    const rendered: Key[] = [];
    await searchPage(searchOf({ q: 'key_7', state: 'active' }), { pageSize: 100, pageToken: '' }, read, async (found) => {
      rendered.push(...found);
      return found;
    });
    expect(rendered).toEqual(keys.filter(({ id }) => id.startsWith('key_7')));
  });

  it.each([['state', { state: 'gone' }]])('is rejected for a malformed %s', (field, query) => {
    expect(() => searchOf(query)).toThrow(
      expect.objectContaining({ reason: 'invalid_request', details: expect.objectContaining({ field }) }),
    );
  });
});
