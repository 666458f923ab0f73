// Which keys a list shows: ?q=…, found in the name, the id and the last four characters, and ?state=…, words separated by commas.
import { fieldFault } from '#client/errors/fault.js';
import { type KeyStateWord, keyStateWords } from '#rules/key-state-words.js';

/** How many pages of keys one request reads in search of a page of matches. What is behind them is behind `next`. */
const readsMax = 20;

/** What a key must match. */
export interface KeySearch {
  /** In lower case; empty for any. */
  readonly text: string;
  /** Undefined for any. */
  readonly states: ReadonlySet<KeyStateWord> | undefined;
}

/** What a search looks at. */
export interface Searched {
  readonly id: string;
  readonly name: string;
  readonly last_four: string;
  readonly state: KeyStateWord;
}

/** The search of a request. Raises invalid_request that names the parameter. */
export function keySearchOf({ q = '', state = '' }: { readonly q?: string; readonly state?: string }): KeySearch {
  const words = state.split(',').filter((word) => word !== '');
  const isWord = (word: string): word is KeyStateWord => (keyStateWords as readonly string[]).includes(word);
  if (!words.every(isWord)) throw fieldFault('state', 'words_of', { values: keyStateWords.join(', ') });
  return { text: q.trim().toLowerCase(), states: words.length === 0 ? undefined : new Set(words) };
}

/** Whether the search finds a key. */
export function isFound(key: Searched, { text, states }: KeySearch): boolean {
  if (states !== undefined && !states.has(key.state)) return false;
  return text === '' || [key.name, key.id, key.last_four].some((each) => each.toLowerCase().includes(text));
}

/** One page of keys, and the token of the next; empty on the last one. */
export interface KeyPage<Item> {
  readonly items: Item[];
  readonly nextPageToken: string;
}

/** A page of what is found. It may be short, even empty, though more is to come: only `nextPageToken` tells the end. */
export async function searchPage<Item extends Searched>(
  search: KeySearch,
  page: { readonly pageSize: number; readonly pageToken: string },
  read: (pageSize: number, pageToken: string) => Promise<KeyPage<Item>>,
): Promise<KeyPage<Item>> {
  const items: Item[] = [];
  let { pageToken } = page;
  for (let reads = 0; reads < readsMax && items.length < page.pageSize; reads += 1) {
    // Never more than is missing, so that the token stands right behind the last one that is shown.
    const found = await read(page.pageSize - items.length, pageToken);
    items.push(...found.items.filter((item) => isFound(item, search)));
    pageToken = found.nextPageToken;
    if (pageToken === '') break;
  }
  return { items, nextPageToken: pageToken };
}
