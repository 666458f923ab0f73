// The search for keys in a list: ?q=…, found in the name, the id and the last four characters, and ?state=…, words separated by commas.
import { fieldFault } from '#client/errors/fault.js';
import { type KeyStateWord, keyStateWords } from '#rules/keys/key-state-words.js';

/** Maximum number of pages of keys that one request reads to fill a page of matches. The search continues with `next`. */
const readsMax = 20;

/** Holds the conditions that a key must match. */
export interface KeySearch {
  /** In lower case; empty for any. */
  readonly text: string;
  /** Undefined for any. */
  readonly states: ReadonlySet<KeyStateWord> | undefined;
}

/** Holds the fields of a key that a search reads. */
export interface Searched {
  readonly id: string;
  readonly name: string;
  readonly last_four: string;
  readonly state: KeyStateWord;
}

/** Parses the search of a request. Raises invalid_request with the name of the parameter. */
export function keySearchOf({ q = '', state = '' }: { readonly q?: string; readonly state?: string }): KeySearch {
  const words = state.split(',').filter((word) => word !== '');
  const isWord = (word: string): word is KeyStateWord => (keyStateWords as readonly string[]).includes(word);
  if (!words.every(isWord)) throw fieldFault('state', 'words_of', { values: keyStateWords.join(', ') });
  return { text: q.trim().toLowerCase(), states: words.length === 0 ? undefined : new Set(words) };
}

/** Reports whether a key matches the search. */
function isFound(key: Searched, { text, states }: KeySearch): boolean {
  if (states !== undefined && !states.has(key.state)) return false;
  return text === '' || [key.name, key.id, key.last_four].some((each) => each.toLowerCase().includes(text));
}

/** Holds one page of keys and the token of the next page, empty on the last page. */
export interface KeyPage<Item> {
  readonly items: Item[];
  readonly nextPageToken: string;
}

/** Returns a page of matches. It may be short or empty although more pages follow: only an empty `nextPageToken` marks the end. */
export async function searchPage<Item extends Searched>(
  search: KeySearch,
  page: { readonly pageSize: number; readonly pageToken: string },
  read: (pageSize: number, pageToken: string) => Promise<KeyPage<Item>>,
): Promise<KeyPage<Item>> {
  const items: Item[] = [];
  let { pageToken } = page;
  for (let reads = 0; reads < readsMax && items.length < page.pageSize; reads += 1) {
    // Never more than are missing, so that the next page begins right after the last key that is returned.
    const found = await read(page.pageSize - items.length, pageToken);
    items.push(...found.items.filter((item) => isFound(item, search)));
    pageToken = found.nextPageToken;
    if (pageToken === '') break;
  }
  return { items, nextPageToken: pageToken };
}
