// How sums are kept: for which dimensions calls are told apart, and over how long. Pure.
import { createHash } from 'node:crypto';

/**
 * What the calls of a series have in common. A shape for each way people mostly look keeps the number of rows small; whatever needs two
 * dimensions is added up from `all` three.
 */
export enum Shape {
  account = 0,
  key = 1,
  model = 2,
  ending = 3,
  all = 4,
}

/** All shapes. */
export const shapes = [Shape.account, Shape.key, Shape.model, Shape.ending, Shape.all] as const;

const minuteMs = 60_000;
/** All offsets of the world's zones are whole quarters of an hour. */
export const quarterMs = 15 * minuteMs;
/** Six a day, so that a day of any zone is five of them and sixteen quarters, or six. */
export const blockMs = 240 * minuteMs;
/** Four days: many series over months are few rows. Kept of the shape `all` only, since the others are few as they are. */
export const spanMs = 4 * 1440 * minuteMs;
/** A day. */
export const dayMs = 1440 * minuteMs;

const spanPart = 0;
const blockPart = 1;
const firstQuarterPart = 2;
const partsOfShape = 8;
const blocksOfDay = dayMs / blockMs;

/** Has spans. */
export function hasSpans(shape: Shape): boolean {
  return shape === Shape.all;
}

/** The part of usage_rollup with the spans of a shape. */
export function spansOf(shape: Shape): number {
  return shape * partsOfShape + spanPart;
}

/** The part with the blocks of a shape. */
export function blocksOf(shape: Shape): number {
  return shape * partsOfShape + blockPart;
}

/** The part with the quarters of a shape that are in a block of the day, counted from 0 at midnight UTC: so those of one time of the day stand together. */
export function quartersOf(shape: Shape, blockOfDay: number): number {
  return shape * partsOfShape + firstQuarterPart + blockOfDay;
}

/** The parts with all quarters of a shape. */
export function allQuartersOf(shape: Shape): number[] {
  return Array.from({ length: blocksOfDay }, (_, block) => quartersOf(shape, block));
}

/** Where the sums of a quarter of an hour are kept: part and bucket, twice or three times. */
export function placesOf(shape: Shape, quarter: number): { part: number; bucketMs: number }[] {
  const places = [
    { part: quartersOf(shape, Math.floor((quarter % dayMs) / blockMs)), bucketMs: quarter },
    { part: blocksOf(shape), bucketMs: quarter - (quarter % blockMs) },
  ];
  if (hasSpans(shape)) places.push({ part: spansOf(shape), bucketMs: quarter - (quarter % spanMs) });
  return places;
}

/** What the calls of a series have in common; what they do not is empty, or 0. */
export interface Dimensions {
  readonly shape: Shape;
  readonly keyId: Buffer;
  readonly modelId: string;
  readonly ending: number;
}

const anyKey = Buffer.alloc(16);

/** The series of each shape to which such calls belong. */
export function dimensionsOf(keyId: Buffer, modelId: string, ending: number): Dimensions[] {
  return [
    { shape: Shape.account, keyId: anyKey, modelId: '', ending: 0 },
    { shape: Shape.key, keyId, modelId: '', ending: 0 },
    { shape: Shape.model, keyId: anyKey, modelId, ending: 0 },
    { shape: Shape.ending, keyId: anyKey, modelId: '', ending },
    { shape: Shape.all, keyId, modelId, ending },
  ];
}

/** Stands for the dimensions. */
export function hashOf({ shape, keyId, modelId, ending }: Dimensions): Buffer {
  return createHash('sha256').update(`${shape} ${ending} `).update(keyId).update(modelId).digest().subarray(0, 16);
}
