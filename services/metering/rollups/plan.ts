// Plans which roll-ups and which records together make up the sums over a period. Pure.
import { dayMs, hourMs } from '#kit/clock.js';
import {
  allHoursOf,
  allQuartersOf,
  blockMs,
  blocksOf,
  hasHours,
  hasSpans,
  hoursOf,
  quarterMs,
  quartersOf,
  type Shape,
  spanMs,
  spansOf,
} from './shapes.js';

/** The time resolution that the response needs. */
export type TimeGrain = 'none' | 'day' | 'hour';

/** A period from an instant (inclusive) to another (exclusive). */
export interface Stretch {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A period of roll-ups: those whose buckets begin within it. */
interface Piece extends Stretch {
  readonly parts: readonly number[];
  /** Time of day, in UTC, of the block that begins on one day of the zone and ends on the next: it is not read. */
  readonly exceptAtMs?: number;
  /** Whether each series has one row per time group of the response. */
  readonly isOneRowPerGroup?: boolean;
}

/** Holds what to read. */
export interface Plan {
  /** The period for which roll-ups are read, plus records that are not in them yet. */
  readonly summed: Stretch;
  readonly pieces: readonly Piece[];
  /** The periods whose records are read one by one. */
  readonly edges: readonly Stretch[];
}

/** Later than any record's start, and a whole number of spans. */
const endOfTimeMs = 1_000_000 * spanMs;

/** Plans for times from 0 or `fromMs`, until the end of time or before `untilMs`. */
export function planOf(shape: Shape, fromMs: number, untilMs: number, grain: TimeGrain, offsetMinutes: number): Plan {
  const end = untilMs === 0 ? endOfTimeMs : Math.min(untilMs, endOfTimeMs);
  const summed = { fromMs: up(fromMs, quarterMs), untilMs: down(end, quarterMs) };
  if (summed.fromMs >= summed.untilMs)
    return { summed: { fromMs, untilMs: fromMs }, pieces: [], edges: isEmpty({ fromMs, untilMs: end }) ? [] : [{ fromMs, untilMs: end }] };
  const edges = [
    { fromMs, untilMs: summed.fromMs },
    { fromMs: summed.untilMs, untilMs: end },
  ].filter((edge) => !isEmpty(edge));
  return { summed, pieces: piecesOf(shape, summed, grain, offsetMinutes).filter((piece) => !isEmpty(piece)), edges };
}

function piecesOf(shape: Shape, summed: Stretch, grain: TimeGrain, offsetMinutes: number): Piece[] {
  const quarters = allQuartersOf(shape);
  // In all other zones an hour, and the block at midnight, is cut within an hour.
  const areHoursWhole = hasHours(shape) && offsetMinutes % 60 === 0;
  if (grain === 'hour') {
    const [hours, aroundHours] = areHoursWhole ? within(summed, hourMs) : [undefined, [summed]];
    const pieces: Piece[] = aroundHours.map((stretch) => ({ ...stretch, parts: quarters }));
    if (hours !== undefined) pieces.push({ ...hours, parts: allHoursOf(shape), isOneRowPerGroup: true });
    return pieces;
  }
  const [blocks, aroundBlocks] = within(summed, blockMs);
  const pieces: Piece[] = aroundBlocks.map((stretch) => ({ ...stretch, parts: quarters }));
  if (blocks === undefined) return pieces;
  if (grain === 'day') {
    const midnightMs = (dayMs - ((offsetMinutes * 60_000) % dayMs)) % dayMs;
    const cutMs = down(midnightMs, blockMs);
    if (cutMs === midnightMs) return [...pieces, { ...blocks, parts: [blocksOf(shape)] }];
    const cut = (areHoursWhole ? hoursOf : quartersOf)(shape, cutMs / blockMs);
    return [...pieces, { ...blocks, parts: [blocksOf(shape)], exceptAtMs: cutMs }, { ...blocks, parts: [cut] }];
  }
  const [spans, aroundSpans] = hasSpans(shape) ? within(blocks, spanMs) : [undefined, [blocks]];
  pieces.push(...aroundSpans.map((stretch) => ({ ...stretch, parts: [blocksOf(shape)] })));
  if (spans !== undefined) pieces.push({ ...spans, parts: [spansOf(shape)] });
  return pieces;
}

/** Returns the whole units of a period, if any, and what is left before and after. */
function within(stretch: Stretch, unitMs: number): [Stretch | undefined, Stretch[]] {
  const whole = { fromMs: up(stretch.fromMs, unitMs), untilMs: down(stretch.untilMs, unitMs) };
  if (isEmpty(whole)) return [undefined, [stretch]];
  return [
    whole,
    [
      { fromMs: stretch.fromMs, untilMs: whole.fromMs },
      { fromMs: whole.untilMs, untilMs: stretch.untilMs },
    ],
  ];
}

function isEmpty({ fromMs, untilMs }: Stretch): boolean {
  return fromMs >= untilMs;
}

function up(ms: number, unitMs: number): number {
  return Math.ceil(ms / unitMs) * unitMs;
}

function down(ms: number, unitMs: number): number {
  return Math.floor(ms / unitMs) * unitMs;
}
