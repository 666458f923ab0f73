// The form of a draft, and the request built from it. Pure.
import type { Figures, TokenClass } from '../../api/operator-catalog.js';
import type { Zone } from '../../format/time.js';
import { priceClasses } from './price-classes.js';

/** The text of each field. */
export type Typed = Record<TokenClass, string>;

/** What the form begins with. */
export function typedOf(figures: Figures | undefined): Typed {
  return Object.fromEntries(priceClasses.map((name) => [name, figures?.[name] ?? ''])) as Typed;
}

/**
 * Empty fields follow input; reasoning follows output if it is omitted. Commas are sent unchanged, for the API to reject: it is ambiguous
 * whether "1,000" is one or a thousand.
 */
export function figuresOf(typed: Typed): Figures {
  const read = (text: string): string => text.trim().replace(/^\$\s*/, '');
  const input = read(typed.input);
  const orInput = (text: string): string => read(text) || input;
  const reasoning = read(typed.reasoning);
  return {
    input,
    cache_read: orInput(typed.cache_read),
    cache_write_5m: orInput(typed.cache_write_5m),
    cache_write_1h: orInput(typed.cache_write_1h),
    output: read(typed.output),
    reasoning: reasoning === '' ? null : reasoning,
  };
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
