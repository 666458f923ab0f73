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

/** Holds the fields of a key in which text is found. */
export interface Searched {
  readonly id: string;
  readonly name: string;
  readonly lastFour: string;
}

/** Parses the search of a request. Raises invalid_request with the name of the parameter. */
export function keySearchOf({ q = '', state = '' }: { readonly q?: string; readonly state?: string }): KeySearch {
  const words = state.split(',').filter((word) => word !== '');
  const isWord = (word: string): word is KeyStateWord => (keyStateWords as readonly string[]).includes(word);
  if (!words.every(isWord)) throw fieldFault('state', 'words_of', { values: keyStateWords.join(', ') });
  return { text: q.trim().toLowerCase(), states: words.length === 0 ? undefined : new Set(words) };
}

/** Reports whether a key contains the text of the search. */
function hasText({ name, id, lastFour }: Searched, { text }: KeySearch): boolean {
  return text === '' || [name, id, lastFour].some((each) => each.toLowerCase().includes(text));
}

/** Holds one page of keys and the token of the next page, empty on the last page. */
export interface KeyPage<Item> {
  readonly items: readonly Item[];
  readonly nextPageToken: string;
}

/**
 * Returns a page of matches. It may be short or empty although more pages follow: only an empty `nextPageToken` marks the end. Only keys that contain
 * the text are rendered, because that reads their spending and their calls.
 */
export async function searchPage<Key extends Searched, Item extends { readonly state: KeyStateWord }>(
  search: KeySearch,
  page: { readonly pageSize: number; readonly pageToken: string },
  read: (pageSize: number, pageToken: string) => Promise<KeyPage<Key>>,
  render: (keys: readonly Key[]) => Promise<readonly Item[]>,
): Promise<KeyPage<Item>> {
  const items: Item[] = [];
  let { pageToken } = page;
  for (let reads = 0; reads < readsMax && items.length < page.pageSize; reads += 1) {
    // Never more than are missing, so that the next page begins right after the last key that is returned.
    const found = await read(page.pageSize - items.length, pageToken);
    const rendered = await render(found.items.filter((key) => hasText(key, search)));
    items.push(...rendered.filter(({ state }) => search.states?.has(state) !== false));
    pageToken = found.nextPageToken;
    if (pageToken === '') break;
  }
  return { items, nextPageToken: pageToken };
}
