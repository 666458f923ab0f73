import { describe, expect, it } from '@jest/globals';
import { Prompt, Role } from '#proto/inference/v1/inference.js';
import { draw, prefixHash } from './prefix-hash.js';

const prompt = (system: string, ...texts: string[]): Prompt =>
  Prompt.fromPartial({
    system: [system],
    messages: texts.map((text) => ({ role: Role.ROLE_USER, parts: [{ part: { $case: 'text', value: { text } } }] })),
  });

describe('the hash of the beginning of a prompt', () => {
  it('is the same for the calls of one conversation, and differs with the instructions, the first message and the account', () => {
    const one = prefixHash('acct_1', prompt('Be brief.', 'Hi'));
    expect(prefixHash('acct_1', prompt('Be brief.', 'Hi', 'Hello!', 'And then?'))).toBe(one);
    const others = [
      prefixHash('acct_2', prompt('Be brief.', 'Hi')),
      prefixHash('acct_1', prompt('Be long.', 'Hi')),
      prefixHash('acct_1', prompt('Be brief.', 'Ho')),
      prefixHash('acct_1', prompt('Be brief.Hi', '')),
    ];
    expect(new Set([one, ...others]).size).toBe(5);
  });

  it('differs for long texts that differ at their beginning, at their end or in length', () => {
    const text = 'x'.repeat(100_000);
    const texts = [text, `y${text.slice(1)}`, `${text.slice(1)}y`, `${text}x`];
    expect(new Set(texts.map((each) => prefixHash('acct_1', prompt('', each)))).size).toBe(4);
  });
});

describe('the draws of targets', () => {
  it('are spread evenly, and those of two targets do not depend on each other', () => {
    const prefixes = Array.from({ length: 10_000 }, (_, index) => prefixHash('acct_1', prompt('', `Call ${index}`)));
    const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
    const [a, b] = [17, 18].map((target) => prefixes.map((prefix) => draw(prefix, target)));
    expect(Math.min(...a!)).toBeGreaterThan(0);
    expect(Math.max(...a!)).toBeLessThan(1);
    expect(mean(a!)).toBeCloseTo(0.5, 1);
    expect(a!.filter((value, index) => value > b![index]!).length / prefixes.length).toBeCloseTo(0.5, 1);
  });
});
