import { describe, expect, it } from '@jest/globals';
import { KeyState } from '#proto/auth/v1/auth.js';
import {
  parseAmount,
  parseCount,
  parseInstant,
  parseLimit,
  parseList,
  parseOffset,
  parsePositiveAmount,
  parsePrice,
  parseTimeLimit,
  wordsOf,
} from './parse.js';

const nowMs = Date.parse('2027-01-15T08:00:00Z');
const iso = (ms: bigint): string => new Date(Number(ms)).toISOString();

describe('amounts', () => {
  it('are exact', () => {
    expect(parseAmount('0.000000001')).toBe(1n);
    expect(parseAmount('-1.5')).toBe(-1_500_000_000n);
    expect(parsePrice('0')).toBe(0n);
    expect(parseLimit('none')).toBeUndefined();
  });

  it.each(['', '$5', '1,5', '1e3', '0.0000000001', 'five'])('are rejected when they are not decimal USD: %p', (text) => {
    expect(() => parseAmount(text)).toThrow('USD');
  });

  it('are rejected out of range', () => {
    expect(() => parsePositiveAmount('0')).toThrow('above zero');
    expect(() => parsePrice('-1')).toThrow('negative');
    expect(() => parseLimit('0')).toThrow('above zero');
    for (const text of ['1000000000.000000001', '-9999999999']) expect(() => parseAmount(text)).toThrow('at most 1,000,000,000 USD');
    expect(() => parseLimit('9000000000.000000001')).toThrow('at most 9,000,000,000 USD');
  });
});

describe('times', () => {
  it.each([
    ['30d', '2027-02-14T08:00:00.000Z'],
    ['12h', '2027-01-15T20:00:00.000Z'],
    ['2w', '2027-01-29T08:00:00.000Z'],
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
    ['2027-01-31 12:30', '2027-01-31T12:30:00.000Z'],
    ['2027-01-31T12:30:15.5Z', '2027-01-31T12:30:15.500Z'],
    ['2027-01-31T12:30+02:00', '2027-01-31T10:30:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(iso(parseInstant(text, nowMs, 'ahead'))).toBe(expected);
  });

  it('are in the past for the direction "back"', () => {
    expect(iso(parseInstant('12h', nowMs, 'back'))).toBe('2027-01-14T20:00:00.000Z');
  });

  it.each(['', 'soon', '30', '2027-02-30', '2027-13-01', '2027-01-31T25:00', '31.01.2027', '-1d'])('are rejected: %p', (text) => {
    expect(() => parseInstant(text, nowMs, 'ahead')).toThrow('2027-01-31');
  });

  it.each([
    ['1969-12-31', 'back'],
    ['999999w', 'back'],
    ['999999w', 'ahead'],
    ['9999-12-31T23:59-01:00', 'ahead'],
  ] as const)('are rejected before 1970 and after 9999: %p %s', (text, direction) => {
    expect(() => parseInstant(text, nowMs, direction)).toThrow('Specify a time from 1970 to 9999.');
  });
});

describe('time limits', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
  ])('of %s are %d ms', (text, ms) => {
    expect(parseTimeLimit(text)).toBe(ms);
  });

  it.each(['', '5', '1d', '-5s', '1.5s'])('are rejected: %p', (text) => {
    expect(() => parseTimeLimit(text)).toThrow('250ms');
  });
});

describe('offsets from UTC', () => {
  it.each([
    ['Z', 0],
    ['+00:00', 0],
    ['-00:00', 0],
    ['+05:45', 345],
    ['-11:00', -660],
    ['+14:00', 840],
  ] as const)('%s are %i minutes', (text, minutes) => {
    expect(parseOffset(text)).toBe(minutes);
  });

  it.each(['', '5', '+5:45', '+05:60', 'CET'])('are rejected: %p', (text) => {
    expect(() => parseOffset(text)).toThrow('+05:45');
  });
});

describe('lists, counts and words', () => {
  it('are parsed leniently where that is unambiguous', () => {
    expect(parseList('a, b,,c')).toEqual(['a', 'b', 'c']);
    expect(parseCount('500', 1, 500)).toBe(500);
    const states = wordsOf<KeyState>(KeyState, 'KEY_STATE_');
    expect(states.all).toEqual(['active', 'disabled', 'revoked']);
    expect(states.parse('Revoked')).toBe(KeyState.KEY_STATE_REVOKED);
    expect(states.of(KeyState.KEY_STATE_DISABLED)).toBe('disabled');
    // A newer server may send what this version does not know.
    expect(states.of(KeyState.UNRECOGNIZED)).toBe('unspecified');
  });

  it('are rejected with the nearest valid value', () => {
    expect(() => parseList(' , ')).toThrow('one or more');
    expect(() => parseCount('501', 1, 500)).toThrow('from 1 to 500');
    expect(() => wordsOf<KeyState>(KeyState, 'KEY_STATE_').parse('disable')).toThrow('Did you mean disabled?');
    expect(() => wordsOf<KeyState>(KeyState, 'KEY_STATE_').parse('gift')).toThrow(/^It must be one of active, disabled, revoked\.$/);
  });
});
