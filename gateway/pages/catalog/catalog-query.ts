// The query of the public catalog, which selects and sorts the models. All of it is in the address, so that a view can be linked. Pure.
import type { CatalogModel } from '../../formats/models-schema.js';
import { type Language, readLanguage } from '../language.js';

/** The supported orders. */
export const orders = ['name', 'input', 'output', 'context', 'newest'] as const;

/** A supported order. */
export type Order = (typeof orders)[number];

/** The query of an address. */
export interface CatalogQuery {
  /** Words that must all occur in the id, name, owner or description. */
  readonly text: string;
  readonly owner: string;
  /** Features and modalities that a model must have. */
  readonly needs: readonly string[];
  readonly order: Order;
  readonly descending: boolean;
  /** The language that the address names; undefined if the browser decides. */
  readonly language: Language | undefined;
}

const textCharsMax = 100;
const needsMax = 16;
// These are sorted in ascending order by default, the others in descending order.
const ascendingFirst: readonly Order[] = ['name', 'input', 'output'];

/** Parses the query of an address. Unknown parameters and values are ignored, so that an old link still shows a catalog. */
export function readCatalogQuery(query: Readonly<Record<string, string | string[] | undefined>>): CatalogQuery {
  const all = (name: string): string[] => [query[name] ?? []].flat();
  return {
    text: (all('q')[0] ?? '').slice(0, textCharsMax).trim(),
    owner: (all('owner')[0] ?? '').slice(0, textCharsMax),
    needs: [...new Set(all('with').filter((need) => /^[a-z_]{1,40}$/.test(need)))].slice(0, needsMax),
    ...readSort(all('sort')[0]),
    language: readLanguage(query),
  };
}

/** Parses a value of `sort`: an order in its default direction, or followed by `-asc` or `-desc`. */
function readSort(sort = ''): Pick<CatalogQuery, 'order' | 'descending'> {
  const [, name, direction] = /^([a-z]+)(?:-(asc|desc))?$/.exec(sort) ?? [];
  const order = orders.find((each) => each === name);
  if (order === undefined) return { order: 'name', descending: false };
  return { order, descending: direction === undefined ? !ascendingFirst.includes(order) : direction === 'desc' };
}

/** Returns the value of `sort` for an order. */
export function writeSort({ order, descending }: Pick<CatalogQuery, 'order' | 'descending'>): string {
  if (descending !== ascendingFirst.includes(order)) return order;
  return `${order}-${descending ? 'desc' : 'asc'}`;
}

/** Every choice of `sort`, each order first in its default direction. */
export const sorts: readonly Pick<CatalogQuery, 'order' | 'descending'>[] = orders.flatMap((order) => {
  const descending = !ascendingFirst.includes(order);
  return [
    { order, descending },
    { order, descending: !descending },
  ];
});

/** Returns the query as written in an address, with changes; empty for the default view. */
export function writeCatalogQuery(query: CatalogQuery, changes: Partial<CatalogQuery> = {}): string {
  const { text, owner, needs, language, ...sort } = { ...query, ...changes };
  const params = new URLSearchParams();
  if (text !== '') params.set('q', text);
  if (owner !== '') params.set('owner', owner);
  for (const need of needs) params.append('with', need);
  if (writeSort(sort) !== 'name') params.set('sort', writeSort(sort));
  if (language !== undefined) params.set('lang', language);
  const written = params.toString();
  return written === '' ? '' : `?${written}`;
}

/** Returns the selected models in order; by price, unpriced ones come last in both directions. */
export function selectModels(models: readonly CatalogModel[], query: CatalogQuery): CatalogModel[] {
  const words = query.text.toLowerCase().split(/\s+/);
  const chosen = models.filter((model) => {
    const searched = [model.id, model.display_name, model.owned_by, model.description, ...model.aliases].join('\n').toLowerCase();
    const has = new Set([...model.features, ...model.input_modalities]);
    return (
      (query.owner === '' || model.owned_by === query.owner) &&
      query.needs.every((need) => has.has(need)) &&
      words.every((word) => searched.includes(word))
    );
  });
  const sign = query.descending ? -1 : 1;
  return chosen.sort((a, b) => {
    const [left, right] = [rank(a, query.order), rank(b, query.order)];
    if (left === undefined || right === undefined) return left === right ? compareIds(a, b) : left === undefined ? 1 : -1;
    const order = typeof left === 'string' ? left.localeCompare(right as string, 'en') : left - (right as number);
    return sign * order || compareIds(a, b);
  });
}

function compareIds(a: CatalogModel, b: CatalogModel): number {
  return a.id < b.id ? -1 : 1;
}

function rank(model: CatalogModel, order: Order): string | number | undefined {
  const prices = model.usd_per_million_tokens;
  switch (order) {
    case 'name':
      return model.display_name.toLowerCase();
    case 'input':
    case 'output':
      // Only for sorting, for which a float is exact enough.
      return prices === null ? undefined : Number(prices[order]);
    case 'context':
      return model.max_input_tokens;
    case 'newest':
      return model.created;
  }
}
