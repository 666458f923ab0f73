// How refused calls are counted, and how many of them are stored as examples: the same in the gateway and in metering. Pure.
import type { Reason } from './reasons.js';

/** Refused calls are counted by quarter of an hour, of which the days and hours of every time zone are made. */
export const quarterMs = 900_000;

/** Examples of one series (key, model and reason) that are stored at once. */
const examplesAtOnce = 200;
/** One more is stored for each further part of this length, so that the examples of a long flood are spread over its whole duration. */
const exampleEveryMs = 12_000;

/** Returns the start of the quarter of an hour that contains this instant. */
export function quarterOf(atMs: number): number {
  return atMs - (atMs % quarterMs);
}

/** Returns how many examples of a series may have been stored at this instant of its quarter. */
export function examplesUntil(atMs: number): number {
  return examplesAtOnce + Math.floor((atMs % quarterMs) / exampleEveryMs);
}

/** A series of refused calls of a key ends after this long without one. */
export const refusalPauseMs = quarterMs;

/** Reasons for which every call of a key is refused until someone acts. An alert is sent when calls of a key begin to be refused for one of them. */
export const standingReasons: readonly Reason[] = [
  'account_suspended',
  'address_not_permitted',
  'balance_empty',
  'budget_reached',
  'key_disabled',
  'key_expired',
  'key_limit_reached',
  'key_revoked',
  'model_not_permitted',
];
