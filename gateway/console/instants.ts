// Timestamps in requests to the console's API.
import { fieldFault } from '#client/errors/fault.js';

/** Returns the epoch milliseconds of a timestamp that begins with a date; NaN if there is no such instant. */
export function parseInstant(text: string): number {
  const [date] = text.split('T', 1) as [string];
  const midnightMs = Date.parse(date);
  // JavaScript moves the 31st of a shorter month to the next month.
  return Number.isNaN(midnightMs) || !new Date(midnightMs).toISOString().startsWith(date) ? Number.NaN : Date.parse(text);
}

/** Returns the instant in a field in epoch milliseconds. Raises invalid_request, with `rule` for one that is not in the future. */
export function futureMs(field: string, text: string, nowMs: number, rule: 'future' | 'future_expiry' | 'future_start' = 'future'): bigint {
  const ms = parseInstant(text);
  if (Number.isNaN(ms)) throw fieldFault(field, 'timestamp');
  if (ms <= nowMs) throw fieldFault(field, rule);
  return BigInt(ms);
}
