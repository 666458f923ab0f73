// The form of a draft, and the request built from it. Pure.
import type { Figures, TokenClass, UnitPrices } from '../../../api/operator-catalog.js';
import { typedUsd } from '../../../format/money.js';
import type { Zone } from '../../../format/time.js';
import { priceClasses } from './price-classes.js';

/** The text of each field. */
export type Typed = Record<TokenClass, string>;

/** Returns the initial texts of the form. */
export function typedOf(figures: Figures | undefined): Typed {
  return Object.fromEntries(priceClasses.map((name) => [name, figures?.[name] ?? ''])) as Typed;
}

/**
 * Empty fields follow input; reasoning follows output if it is omitted. Commas are sent unchanged, for the API to reject: it is ambiguous
 * whether "1,000" is one or a thousand.
 */
export function figuresOf(typed: Typed): Figures {
  const input = typedUsd(typed.input);
  const orInput = (text: string): string => typedUsd(text) || input;
  const reasoning = typedUsd(typed.reasoning);
  return {
    input,
    cache_read: orInput(typed.cache_read),
    cache_write_5m: orInput(typed.cache_write_5m),
    cache_write_1h: orInput(typed.cache_write_1h),
    output: typedUsd(typed.output),
    reasoning: reasoning === '' ? null : reasoning,
  };
}

/** The texts of one other unit, with a number that identifies its row. */
export interface TypedUnit {
  readonly row: number;
  readonly unit: string;
  readonly usd: string;
  readonly maxPerCall: string;
}

/** Returns the initial rows of other units. */
export function typedUnitsOf(prices: UnitPrices = []): TypedUnit[] {
  return prices.map(({ unit, usd, max_per_call }, row) => ({ row, unit, usd, maxPerCall: String(max_per_call) }));
}

/** Returns the rows as the API takes them; rows without a name are left out, and a call is one request. */
export function unitPricesOf(units: readonly TypedUnit[]): UnitPrices {
  return units
    .map(({ unit, usd, maxPerCall }) => ({
      unit: unit.trim(),
      usd: typedUsd(usd),
      max_per_call: unit.trim() === 'request' ? 1 : Number(maxPerCall),
    }))
    .filter(({ unit }) => unit !== '');
}

/** The instant of a wall clock in the zone, as `datetime-local` writes it; null for none. */
export function instantOf(wall: string, zone: Zone): string | null {
  const date = new Date(zone === 'utc' ? `${wall}Z` : wall);
  return wall === '' || Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** The wall clock of an instant in the zone, to the minute. */
export function wallClock(instant: string, zone: Zone): string {
  const date = new Date(instant);
  const shiftMs = zone === 'utc' ? 0 : date.getTimezoneOffset() * 60_000;
  return new Date(date.getTime() - shiftMs).toISOString().slice(0, 16);
}
