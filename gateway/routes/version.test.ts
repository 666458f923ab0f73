import { describe, expect, it } from '@jest/globals';
import type { Context } from 'koa';
import { betasOf, versionOf } from './version.js';

const contextWith = (headers: Record<string, string>): Context => ({ get: (name: string) => headers[name] ?? '' }) as unknown as Context;

describe('the version of the messages format', () => {
  it('is the one that the caller sends, by default 2023-06-01', () => {
    expect(versionOf(contextWith({ 'anthropic-version': '2026-10-21' }))).toBe('2026-10-21');
    expect(versionOf(contextWith({}))).toBe('2023-06-01');
    expect(() => versionOf(contextWith({ 'anthropic-version': 'latest' }))).toThrow('anthropic-version: "latest" is not a date');
  });
});

describe('the beta flags', () => {
  it.each<[string, string[]]>([
    ['', []],
    ['a-2025-05-14', ['a-2025-05-14']],
    ['claude-code-20250219,interleaved-thinking-2025-05-14', ['claude-code-20250219', 'interleaved-thinking-2025-05-14']],
    [' a , b,,c ', ['a', 'b', 'c']],
    [`good, two words, x${'y'.repeat(100)}, quo"te, also-good`, ['good', 'also-good']],
  ])('of %j are %j', (header, flags) => {
    expect(betasOf(contextWith({ 'anthropic-beta': header }))).toEqual(flags);
  });

  it('are limited to 64, however many a caller sends', () => {
    expect(betasOf(contextWith({ 'anthropic-beta': Array.from({ length: 1000 }, (_, index) => `f${index}`).join(',') }))).toHaveLength(64);
  });
});
