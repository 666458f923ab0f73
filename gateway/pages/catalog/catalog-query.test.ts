import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CatalogModel } from '../../formats/models-schema.js';
import { languages } from '../language.js';
import { type CatalogQuery, type Order, orders, readCatalogQuery, selectModels, writeCatalogQuery } from './catalog-query.js';

function model(id: string, changes: Partial<CatalogModel> = {}): CatalogModel {
  const prices = { input: '1', cache_read: '0.1', cache_write_5m: '1.25', cache_write_1h: '2', output: '5' };
  return {
    id,
    object: 'model',
    created: 0,
    owned_by: 'acme',
    type: 'model',
    display_name: id,
    created_at: '1970-01-01T00:00:00.000Z',
    max_input_tokens: 1000,
    max_tokens: 100,
    lifecycle: 'active',
    description: '',
    aliases: [],
    input_modalities: ['text'],
    output_modalities: ['text'],
    features: [],
    usd_per_million_tokens: prices,
    unit_prices: [],
    available: true,
    ...changes,
  };
}

const priced = (input: string) => ({
  usd_per_million_tokens: { input, cache_read: '0', cache_write_5m: '0', cache_write_1h: '0', output: '5' },
});
const ids = (models: readonly CatalogModel[], query: Record<string, string | string[]>): string[] =>
  selectModels(models, readCatalogQuery(query)).map(({ id }) => id);

describe('the query of the public catalog', () => {
  const models = [
    model('b/large', { max_input_tokens: 9000, ...priced('10'), features: ['tools', 'reasoning'], owned_by: 'bee' }),
    model('a/small', { ...priced('2'), features: ['tools'], input_modalities: ['text', 'image'], description: 'Quick answers.' }),
    model('c/unpriced', { usd_per_million_tokens: null, aliases: ['old-name'] }),
  ];

  it('sorts by name, price as a number, context and age, and keeps unpriced models last', () => {
    expect(ids(models, {})).toEqual(['a/small', 'b/large', 'c/unpriced']);
    expect(ids(models, { sort: 'input' })).toEqual(['a/small', 'b/large', 'c/unpriced']);
    expect(ids(models, { sort: 'input-desc' })).toEqual(['b/large', 'a/small', 'c/unpriced']);
    expect(ids(models, { sort: 'context' })[0]).toBe('b/large');
    expect(ids(models, { sort: 'name-desc' })).toEqual(['c/unpriced', 'b/large', 'a/small']);
  });

  it('sorts models that cannot be called now like all others', () => {
    const some = [model('a/away', { available: false, ...priced('1') }), model('b/there', priced('3')), model('c/there', priced('2'))];
    expect(ids(some, {})).toEqual(['a/away', 'b/there', 'c/there']);
    expect(ids(some, { sort: 'name-desc' })).toEqual(['c/there', 'b/there', 'a/away']);
    expect(ids(some, { sort: 'input' })).toEqual(['a/away', 'c/there', 'b/there']);
  });

  it('finds every word, in the id, the name, the provider, the description or an alias', () => {
    expect(ids(models, { q: 'QUICK small' })).toEqual(['a/small']);
    expect(ids(models, { q: 'old-name' })).toEqual(['c/unpriced']);
    expect(ids(models, { q: 'quick large' })).toEqual([]);
  });

  it('shows the models that have everything requested', () => {
    expect(ids(models, { with: ['tools', 'image'] })).toEqual(['a/small']);
    expect(ids(models, { owner: 'bee' })).toEqual(['b/large']);
    expect(ids(models, { with: 'flying' })).toEqual([]);
  });

  it('ignores unknown parameters and values', () => {
    expect(ids(models, { sort: 'price-sideways', with: '<script>', page: '9' })).toEqual(['a/small', 'b/large', 'c/unpriced']);
  });

  it('reads what it writes', () => {
    const query = fc.record<CatalogQuery>({
      text: fc.string({ maxLength: 50 }).map((text) => text.trim()),
      owner: fc.string({ maxLength: 20 }),
      needs: fc.uniqueArray(fc.stringMatching(/^[a-z_]{1,10}$/), { maxLength: 3 }),
      order: fc.constantFrom<Order>(...orders),
      descending: fc.boolean(),
      language: fc.constantFrom(undefined, ...languages),
    });
    fc.assert(
      fc.property(query, (asked) => {
        const params = new URLSearchParams(writeCatalogQuery(asked));
        const read = readCatalogQuery(Object.fromEntries([...params.keys()].map((name) => [name, params.getAll(name)])));
        expect(read).toEqual(asked);
      }),
    );
  });
});
