import { describe, expect, it } from '@jest/globals';
import { dayNames, dayStart } from './days.js';

describe('days', () => {
  const nowMs = Date.UTC(2026, 10, 22, 20, 30);

  it.each([
    [0, '2026-11-22T00:00:00.000Z'],
    [345, '2026-11-22T18:15:00.000Z'],
    [-660, '2026-11-22T11:00:00.000Z'],
    [840, '2026-11-22T10:00:00.000Z'],
  ])('begin where the offset of %i minutes says', (offset, start) => {
    expect(dayStart(0, offset, nowMs).toISOString()).toBe(start);
    expect(dayStart(3, offset, nowMs).getTime()).toBe(Date.parse(start) - 3 * 86_400_000);
  });

  it('are named as in that zone, oldest first', () => {
    expect(dayNames(3, 0, nowMs)).toEqual(['2026-11-20', '2026-11-21', '2026-11-22']);
    expect(dayNames(2, 345, nowMs)).toEqual(['2026-11-22', '2026-11-23']);
  });
});
