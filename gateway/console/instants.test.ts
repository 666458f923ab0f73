import { expect, it } from '@jest/globals';
import { futureMs } from './instants.js';

const nowMs = Date.UTC(2027, 1, 1);

it.each([
  ['2028-02-29T12:00:00Z', Date.UTC(2028, 1, 29, 12)],
  ['2027-02-01T00:00:00-01:30', nowMs + 90 * 60_000],
])('reads the timestamp %s', (text, ms) => {
  expect(futureMs('at', text, nowMs)).toBe(BigInt(ms));
});

it.each([
  ['2027-02-31T12:00:00Z', 'timestamp'],
  ['2027-02-29T12:00:00Z', 'timestamp'],
  ['2027-02-28T25:00:00Z', 'timestamp'],
  ['2027-02-01T00:00:00Z', 'future_start'],
])('refuses %s by the rule %s', (text, rule) => {
  expect(() => futureMs('at', text, nowMs, 'future_start')).toThrow(
    expect.objectContaining({ reason: 'invalid_request', details: expect.objectContaining({ field: 'at', rule }) }),
  );
});
