// Parses arguments: amounts, times, lists and words. Pure; each function raises commander's InvalidArgumentError, whose message follows
// commander's own "error: option '…' argument '…' is invalid.".
import { InvalidArgumentError } from 'commander';
import { dayMs } from '#kit/clock.js';
import { nearMatch } from '#kit/config/settings.js';
import type { ModelPermission } from '#proto/auth/v1/auth.js';
import { amountNanoUsdMax, formatUsd, limitNanoUsdMax, parseUsd } from '#rules/money/money.js';

/** The end of the year 9999. */
const instantMsMax = 253_402_300_799_999;

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: dayMs, w: 7 * dayMs };

/** Returns the nano-USD of an amount such as "5" or "-0.25". */
export function parseAmount(text: string): bigint {
  return parseUpTo(text, amountNanoUsdMax);
}

function parseUpTo(text: string, maxNanoUsd: bigint): bigint {
  const amount = parseUsd(text);
  // An amount with more digits than any valid one has is not parsed either.
  if (amount === undefined && !/^-?\d{11,}(\.\d{1,9})?$/.test(text))
    throw new InvalidArgumentError('Specify an amount in USD such as 5 or 0.25, with at most 9 decimals.');
  if (amount === undefined || amount > maxNanoUsd || -amount > maxNanoUsd)
    throw new InvalidArgumentError(`The amount must be at most ${Number(formatUsd(maxNanoUsd)).toLocaleString('en')} USD.`);
  return amount;
}

/** Returns the nano-USD of an amount above zero. */
export function parsePositiveAmount(text: string): bigint {
  return aboveZero(parseAmount(text));
}

function aboveZero(amount: bigint): bigint {
  if (amount <= 0n) throw new InvalidArgumentError('The amount must be above zero.');
  return amount;
}

/** Returns the nano-USD of a price; zero is allowed. */
export function parsePrice(text: string): bigint {
  const price = parseAmount(text);
  if (price < 0n) throw new InvalidArgumentError('A price must not be negative.');
  return price;
}

/** Returns the nano-USD of a limit above zero. */
export function parsePositiveLimit(text: string): bigint {
  return aboveZero(parseUpTo(text, limitNanoUsdMax));
}

/** Returns the nano-USD of a limit above zero, or undefined for "none". */
export function parseLimit(text: string): bigint | undefined {
  return text === 'none' ? undefined : parsePositiveLimit(text);
}

/**
 * Returns the epoch milliseconds of an ISO 8601 date or time, or of a duration such as "30d" or "12h" from `nowMs` in the
 * given direction. A date or time without a time zone is UTC.
 */
export function parseInstant(text: string, nowMs: number, direction: 'ahead' | 'back'): bigint {
  const relative = /^(\d{1,6})([smhdw])$/.exec(text);
  if (relative !== null) {
    const lengthMs = Number(relative[1]) * unitMs[relative[2]!]!;
    return checkedInstant(direction === 'ahead' ? nowMs + lengthMs : nowMs - lengthMs);
  }
  const ms = parseIso(text);
  if (ms === undefined) {
    throw new InvalidArgumentError('Specify a date or time such as 2027-01-31 or 2027-01-31T12:00Z, or a duration such as 30d or 12h.');
  }
  return checkedInstant(ms);
}

function checkedInstant(ms: number): bigint {
  if (ms < 0 || ms > instantMsMax) throw new InvalidArgumentError('Specify a time from 1970 to 9999.');
  return BigInt(ms);
}

/** Returns the milliseconds of a duration such as "1h" or "7d"; 0 for "0" and "none". */
export function parseOverlap(text: string): bigint {
  if (text === '0' || text === 'none') return 0n;
  const match = /^(\d{1,6})([smhdw])$/.exec(text);
  if (match === null) throw new InvalidArgumentError('Specify a duration such as 1h, 24h or 7d, or none.');
  return BigInt(Number(match[1]) * unitMs[match[2]!]!);
}

/** Returns the milliseconds of a time limit such as "250ms", "30s" or "5m". */
export function parseTimeLimit(text: string): number {
  const match = /^(\d{1,9})(ms|s|m|h)$/.exec(text);
  if (match === null) throw new InvalidArgumentError('Specify a time limit such as 250ms, 30s, 5m or 1h.');
  return Number(match[1]) * (match[2] === 'ms' ? 1 : unitMs[match[2]!]!);
}

/** Returns the minutes east of UTC for an offset such as "+05:45", "-08:00" or "Z". */
export function parseOffset(text: string): number {
  if (text === 'Z') return 0;
  const [, sign, hours, minutes] = /^([+-])(\d{2}):(\d{2})$/.exec(text) ?? [];
  if (sign === undefined || Number(minutes) > 59) throw new InvalidArgumentError('Specify an offset from UTC such as +05:45, -08:00 or Z.');
  const east = Number(hours) * 60 + Number(minutes);
  return sign === '-' && east !== 0 ? -east : east;
}

function parseIso(text: string): number | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?)?$/.exec(text);
  if (match === null) return undefined;
  const [, date, time = '00:00', zone = 'Z'] = match;
  const midnightMs = Date.parse(`${date}T00:00Z`);
  // JavaScript moves the 31st of a shorter month to the next month.
  if (Number.isNaN(midnightMs) || !new Date(midnightMs).toISOString().startsWith(date!)) return undefined;
  const ms = Date.parse(`${date}T${time}${zone}`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Returns the parts of "a,b, c" without empty ones; at least one. */
export function parseList(text: string): string[] {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) throw new InvalidArgumentError('Specify one or more, separated by commas.');
  return parts;
}

/** Returns the permission for models such as "a,b", or for "all". */
export function parseModels(text: string): ModelPermission {
  return text === 'all' ? { allModels: true, modelIds: [] } : { allModels: false, modelIds: parseList(text) };
}

/** Returns the addresses and CIDR blocks of a list, or none for "all". The service checks each of them. */
export function parseAddresses(text: string): string[] {
  return text === 'all' ? [] : parseList(text);
}

/** Returns a whole number within bounds. `words` are what the option accepts besides, for the error. */
export function parseCount(text: string, min: number, max: number, words: readonly string[] = []): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < min || count > max)
    throw new InvalidArgumentError(`Specify ${[`a whole number from ${min} to ${max}`, ...words].join(', or ')}.`);
  return count;
}

/** Returns the error for a text that is not one of the words. */
export function unknownWord(text: string, words: readonly string[]): InvalidArgumentError {
  const near = nearMatch(text, words);
  return new InvalidArgumentError(`${near === undefined ? '' : `Did you mean ${near}? `}It must be one of ${words.join(', ')}.`);
}

/** The words for a protobuf enum in arguments and output: KEY_STATE_ACTIVE is "active". */
export interface Words<E extends number> {
  readonly all: readonly string[];
  /** Returns the word for a value; "unspecified" for one that this version does not know. */
  of(value: E): string;
  /** Returns the value of a word; a hyphen is accepted for an underscore. */
  parse(text: string): E;
}

/** Returns the words of a generated enum whose names begin with `prefix`. */
export function wordsOf<E extends number>(generated: Readonly<Record<string, string | number>>, prefix: string): Words<E> {
  const values = new Map<string, E>();
  for (const [name, value] of Object.entries(generated)) {
    if (typeof value === 'number' && value > 0) values.set(name.slice(prefix.length).toLowerCase(), value as E);
  }
  const all = [...values.keys()];
  return {
    all,
    of: (value) => all.find((word) => values.get(word) === value) ?? 'unspecified',
    parse(text) {
      const value = values.get(text.toLowerCase().replaceAll('-', '_'));
      if (value === undefined) throw unknownWord(text, all);
      return value;
    },
  };
}
