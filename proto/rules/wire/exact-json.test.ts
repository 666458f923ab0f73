import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inexact, parseExactly } from './exact-json.js';

describe('parseExactly', () => {
  it('keeps the digits of whole numbers however large they are', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (number) => {
        const json = `{"a":[${number},{"b":${number}}]}`;
        expect(JSON.stringify(parseExactly(json))).toBe(json);
      }),
    );
  });

  it('returns what JSON.parse returns for everything else', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(parseExactly(json)).toEqual(JSON.parse(json));
      }),
    );
    const others = '{"text":"1199137541837586493","half":0.12345678901234567,"large":1e300,"__proto__":1}';
    expect(parseExactly(others)).toEqual(JSON.parse(others));
  });

  it('throws for what is not JSON', () => {
    expect(() => parseExactly('{"a":1199137541837586493')).toThrow(SyntaxError);
    expect(() => parseExactly('{')).toThrow(SyntaxError);
  });
});

it('a field that must be an ordinary number can be read as one', () => {
  const { seed, text } = parseExactly('{"seed":9007199254740993,"text":"a"}') as { seed: unknown; text: unknown };
  expect([inexact(seed), inexact(text)]).toEqual([9_007_199_254_740_992, 'a']);
});
