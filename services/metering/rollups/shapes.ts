// How roll-ups are kept: by which dimensions, and over which periods. Pure.
import { createHash } from 'node:crypto';
import { dayMs, hourMs, minuteMs } from '#kit/clock.js';

/** The dimensions of a series: one shape for each way users look at usage, so that a response is added up from few rows. */
export enum Shape {
  account = 0,
  key = 1,
  model = 2,
  outcome = 3,
  all = 4,
  keyModel = 5,
  keyOutcome = 6,
  modelOutcome = 7,
}

/** All shapes, in the order of `dimensionsOf`. */
export const shapes = [
  Shape.account,
  Shape.key,
  Shape.model,
  Shape.outcome,
  Shape.all,
  Shape.keyModel,
  Shape.keyOutcome,
  Shape.modelOutcome,
] as const;

/** The UTC offsets of all time zones are whole quarters of an hour. */
export const quarterMs = 15 * minuteMs;
/** Six per day, so that a day of any zone is five of them and sixteen quarters or four hours, or six. */
export const blockMs = 4 * hourMs;
/** Four days: many series over months are few rows. */
export const spanMs = 4 * dayMs;

const spanPart = 0;
const blockPart = 1;
const firstQuarterPart = 2;
const firstHourPart = 8;
const partsOfShape = 16;
const blocksOfDay = dayMs / blockMs;

/** Reports whether a shape has at most one dimension. Such shapes have few series, and most charts show them. */
function isPlain(shape: Shape): boolean {
  return shape < Shape.all;
}

/** Reports whether a shape has spans: plain shapes have few rows anyway. */
export function hasSpans(shape: Shape): boolean {
  return !isPlain(shape);
}

/** Reports whether a shape has hours: other shapes are rarely queried by the hour, and each additional row makes every call more expensive. */
export function hasHours(shape: Shape): boolean {
  return isPlain(shape);
}

/** Returns the part of usage_sum with the spans of a shape. */
export function spansOf(shape: Shape): number {
  return shape * partsOfShape + spanPart;
}

/** Returns the part with the blocks of a shape. */
export function blocksOf(shape: Shape): number {
  return shape * partsOfShape + blockPart;
}

/** Returns the part with the quarters of a shape in a block of the day, counted from 0 at midnight UTC: so those of one time of day are stored together. */
export function quartersOf(shape: Shape, blockOfDay: number): number {
  return shape * partsOfShape + firstQuarterPart + blockOfDay;
}

/** Returns the part with the hours of a shape in a block of the day, as `quartersOf` does for quarters. */
export function hoursOf(shape: Shape, blockOfDay: number): number {
  return shape * partsOfShape + firstHourPart + blockOfDay;
}

/** Returns the parts with all quarters of a shape. */
export function allQuartersOf(shape: Shape): number[] {
  return Array.from({ length: blocksOfDay }, (_, block) => quartersOf(shape, block));
}

/** Returns the parts with all hours of a shape. */
export function allHoursOf(shape: Shape): number[] {
  return Array.from({ length: blocksOfDay }, (_, block) => hoursOf(shape, block));
}

/** Holds a place where the sums of a quarter of an hour are kept. */
export interface Place {
  readonly part: number;
  readonly bucketMs: number;
}

/** Returns the three places that the sums of a quarter of an hour are added to: its own, its block's, and its hour's or span's. */
export function placesOf(shape: Shape, quarter: number): Place[] {
  const block = Math.floor((quarter % dayMs) / blockMs);
  const places = [
    { part: quartersOf(shape, block), bucketMs: quarter },
    { part: blocksOf(shape), bucketMs: quarter - (quarter % blockMs) },
  ];
  if (hasHours(shape)) places.push({ part: hoursOf(shape, block), bucketMs: quarter - (quarter % hourMs) });
  if (hasSpans(shape)) places.push({ part: spansOf(shape), bucketMs: quarter - (quarter % spanMs) });
  return places;
}

/** Holds the dimensions of a series; those it does not have are empty, or 0. */
export interface Dimensions {
  readonly shape: Shape;
  /** Shapes with keys have projects too: a key has one series for each project in which it was used. */
  readonly projectId: Buffer;
  readonly keyId: Buffer;
  readonly modelId: string;
  readonly outcome: number;
}

/** Stands for any key or project. */
export const anyId = Buffer.alloc(16);

/** Returns the series of each shape to which such calls belong. */
export function dimensionsOf({ projectId, keyId, modelId, outcome }: Omit<Dimensions, 'shape'>): Dimensions[] {
  const ofKey = { projectId, keyId };
  const ofAnyKey = { projectId: anyId, keyId: anyId };
  return [
    { shape: Shape.account, ...ofAnyKey, modelId: '', outcome: 0 },
    { shape: Shape.key, ...ofKey, modelId: '', outcome: 0 },
    { shape: Shape.model, ...ofAnyKey, modelId, outcome: 0 },
    { shape: Shape.outcome, ...ofAnyKey, modelId: '', outcome },
    { shape: Shape.all, ...ofKey, modelId, outcome },
    { shape: Shape.keyModel, ...ofKey, modelId, outcome: 0 },
    { shape: Shape.keyOutcome, ...ofKey, modelId: '', outcome },
    { shape: Shape.modelOutcome, ...ofAnyKey, modelId, outcome },
  ];
}

/** Returns a hash that identifies the dimensions. */
export function hashOf({ shape, projectId, keyId, modelId, outcome }: Dimensions): Buffer {
  return createHash('sha256').update(`${shape} ${outcome} `).update(projectId).update(keyId).update(modelId).digest().subarray(0, 16);
}
