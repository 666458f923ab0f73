import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { dayMs, hourMs } from '#kit/clock.js';
import { planOf, type TimeGrain } from './plan.js';
import { blockMs, blocksOf, hasHours, hoursOf, placesOf, quarterMs, quartersOf, type Shape, shapes, spanMs } from './shapes.js';

const startMs = Date.parse('2027-01-15T00:00:00Z');
const offsets = [0, 60, 330, 345, 480, 840, -210, -300, -720];

/** Returns how long the buckets of this part are. */
function lengthOf(shape: Shape, part: number): number {
  const blocks = Array.from({ length: dayMs / blockMs }, (_, block) => block);
  if (part === blocksOf(shape)) return blockMs;
  if (blocks.some((block) => part === quartersOf(shape, block))) return quarterMs;
  return hasHours(shape) && blocks.some((block) => part === hoursOf(shape, block)) ? hourMs : spanMs;
}

/** Returns the buckets and edges in which a plan counts an instant, each as its first and last millisecond. */
function countedIn(shape: Shape, { pieces, edges }: ReturnType<typeof planOf>, atMs: number): [firstMs: number, lastMs: number][] {
  const buckets = placesOf(shape, atMs - (atMs % quarterMs)).flatMap(({ part, bucketMs }) =>
    pieces
      .filter(({ parts, fromMs, untilMs }) => parts.includes(part) && bucketMs >= fromMs && bucketMs < untilMs)
      .filter(({ exceptAtMs }) => bucketMs % dayMs !== exceptAtMs)
      .map((): [number, number] => [bucketMs, bucketMs + lengthOf(shape, part) - 1]),
  );
  return [...buckets, ...edges.filter(({ fromMs, untilMs }) => atMs >= fromMs && atMs < untilMs).map((): [number, number] => [atMs, atMs])];
}

it('counts every call of the period once and no other, in a bucket that lies within one day or hour of the response', () => {
  const instant = fc
    .tuple(fc.integer({ min: 0, max: 12 * 96 }), fc.integer({ min: -1, max: 1 }))
    .map(([quarters, ms]) => startMs + quarters * quarterMs + ms);
  fc.assert(
    fc.property(
      fc.constantFrom(...shapes),
      fc.option(instant, { nil: 0 }),
      fc.option(instant, { nil: 0 }),
      fc.constantFrom<TimeGrain>('none', 'day', 'hour'),
      fc.constantFrom(...offsets),
      fc.array(instant, { minLength: 20, maxLength: 20 }),
      (shape, fromMs, untilMs, grain, offsetMinutes, instants) => {
        const plan = planOf(shape, fromMs, untilMs, grain, offsetMinutes);
        const groupMs = { none: Number.MAX_SAFE_INTEGER, day: dayMs, hour: hourMs }[grain];
        const groupOf = (ms: number) => Math.floor((ms + offsetMinutes * 60_000) / groupMs);
        for (const atMs of [...instants, fromMs, untilMs, untilMs - 1].filter((ms) => ms > 0)) {
          const places = countedIn(shape, plan, atMs);
          expect(places).toHaveLength(atMs >= fromMs && (untilMs === 0 || atMs < untilMs) ? 1 : 0);
          for (const [firstMs, lastMs] of places) expect(groupOf(firstMs)).toBe(groupOf(lastMs));
        }
      },
    ),
    { numRuns: 2000 },
  );
});

it('reads long periods from few rows', () => {
  const rowsOf = (shape: Shape, days: number, grain: TimeGrain, offsetMinutes = 0) =>
    planOf(shape, startMs, startMs + days * dayMs, grain, offsetMinutes)
      .pieces.map(({ parts, fromMs, untilMs, exceptAtMs }) => {
        const all = (untilMs - fromMs) / lengthOf(shape, parts[0]!);
        const ofOneBlock = parts.length === 1 && lengthOf(shape, parts[0]!) < blockMs;
        return ofOneBlock ? (all * blockMs) / dayMs : exceptAtMs === undefined ? all : all - (untilMs - fromMs) / dayMs;
      })
      .reduce((sum, rows) => sum + rows, 0);
  const [plain, deep] = [shapes[0], shapes[4]];
  expect([rowsOf(plain, 30, 'day'), rowsOf(deep, 30, 'day')]).toEqual([180, 180]);
  // Five blocks, and four hours or sixteen quarters.
  expect([rowsOf(plain, 30, 'day', 60), rowsOf(plain, 30, 'day', 330), rowsOf(deep, 30, 'day', 60)]).toEqual([270, 630, 630]);
  expect([rowsOf(plain, 30, 'hour'), rowsOf(plain, 30, 'hour', 330), rowsOf(deep, 30, 'hour')]).toEqual([720, 2880, 2880]);
  // Six spans, and 36 blocks around them.
  expect(rowsOf(deep, 30, 'none')).toBe(42);
});
