import { describe, expect, it } from '@jest/globals';
import { createTextIndex, termsOf } from './text-index.js';

describe('the terms of a query', () => {
  it('are its different words, of which the last may be incomplete', () => {
    expect(termsOf('Retry "retry" OR idempot')).toEqual(['"retry"', '"or"', '"idempot"*']);
    expect(termsOf(Array(50).fill('a').join(' '))).toEqual(['"a"*']);
    expect(termsOf(' "*() ')).toEqual([]);
  });

  it('are limited in number', () => {
    expect(termsOf('a b c d e f g h i j')).toHaveLength(8);
  });
});

describe('a text index', () => {
  const index = createTextIndex();
  for (const heading of ['Retry', '', 'Retry', '']) index.add({ title: '', heading, body: 'retry a call' });

  it('returns only the best of the accepted matches', () => {
    expect(index.find('retry', 2, (position) => position !== 0)).toEqual([
      { position: 2, excerpt: ['', 'retry', ' a call'] },
      { position: 1, excerpt: ['', 'retry', ' a call'] },
    ]);
  });

  it('finds texts with any word if none has all', () => {
    expect(index.find('missing c', 9, () => true)).toHaveLength(4);
  });
});
