// Validation of single request fields. Each function returns the value to work with or raises invalid_request, whose
// details.field names the field.
import { fieldFault } from '#client/errors/fault.js';
import { AppError } from '#client/errors/app-error.js';
import { isId } from '#kit/id.js';
import { amountNanoUsdMax } from '#rules/money/money.js';
import { monthOfText } from '../statements/months.js';

const int64Max = 2n ** 63n - 1n;
const ttlMsMin = 1000;
const ttlMsMax = 3_600_000;
const idempotencyKeyCharactersMax = 200;
const reasonCharactersMax = 500;

/** Returns an invalid_request about one field; the message says what the field must be. */
export function invalidField(field: string, rule: string): AppError {
  return new AppError('invalid_request', `${field} must be ${rule}.`, { details: { field } });
}

/** Checks that the text is an id with this prefix. */
export function checkedId(field: string, prefix: 'acct' | 'key' | 'req' | 'batch' | 'code', id: string): string {
  if (!isId(prefix, id)) throw fieldFault(field, 'id', { prefix });
  return id;
}

/** Checks an id with this prefix; returns undefined for an empty text. */
export function optionalId(field: string, prefix: 'key', id: string): string | undefined {
  return id === '' ? undefined : checkedId(field, prefix, id);
}

/** Checks that an amount is at least `min` and at most 1e18 nano-USD. */
export function checkedAmount(field: string, amountNanoUsd: bigint, minNanoUsd: bigint): bigint {
  if (amountNanoUsd < minNanoUsd || amountNanoUsd > amountNanoUsdMax)
    throw fieldFault(field, 'amount_range', { min_nano_usd: minNanoUsd, max_nano_usd: amountNanoUsdMax });
  return amountNanoUsd;
}

/** Checks the limit of a key or of a budget, which may be higher than any amount. */
export function checkedLimit(field: string, limitNanoUsd: bigint): void {
  if (limitNanoUsd < 0n || limitNanoUsd > int64Max) throw fieldFault(field, 'at_least', { min: 0 });
}

/** Checks for how many milliseconds a hold lives without a checkpoint. */
export function checkedTtl(field: string, ttlMs: number): number {
  return checkedCount(field, ttlMs, { min: ttlMsMin, max: ttlMsMax });
}

/** Checks that a whole number is within bounds; 0 means the default where there is one. */
export function checkedCount(field: string, value: number, bounds: { min: number; max: number; default?: number }): number {
  if (value === 0 && bounds.default !== undefined) return bounds.default;
  if (value < bounds.min || value > bounds.max) throw fieldFault(field, 'range', { min: bounds.min, max: bounds.max });
  return value;
}

/** Checks the length of an idempotency key. */
export function checkedIdempotencyKey(idempotencyKey: string): string {
  const field = 'idempotency_key';
  if (idempotencyKey === '' || idempotencyKey.length > idempotencyKeyCharactersMax) {
    throw fieldFault(field, 'length', { min: 1, max: idempotencyKeyCharactersMax });
  }
  return idempotencyKey;
}

/** Checks the reason for a transfer, which is for human readers. */
export function checkedReason(reason: string, options: { required: boolean }): string {
  const field = 'reason';
  if (options.required && reason.trim() === '') throw fieldFault(field, 'given');
  if (reason.length > reasonCharactersMax) throw fieldFault(field, 'max_length', { max: reasonCharactersMax });
  return reason;
}

/** Checks the length of a free text. */
export function checkedText(field: string, text: string, charactersMax: number): string {
  if (text.length > charactersMax) throw fieldFault(field, 'max_length', { max: charactersMax });
  return text;
}

/** Returns the number of a month such as "2026-11". */
export function checkedMonth(field: string, text: string): number {
  const month = monthOfText(text);
  if (month === undefined) throw fieldFault(field, 'month');
  return month;
}

/** Checks the filter for holds or entries: of one account or of all, created within an interval. */
export function checkedExtent(request: { accountId: string; fromMs: bigint; untilMs: bigint }): {
  accountId: string | undefined;
  fromMs: number;
  untilMs: number;
} {
  return {
    accountId: request.accountId === '' ? undefined : checkedId('account_id', 'acct', request.accountId),
    fromMs: checkedInstant('from_ms', request.fromMs),
    untilMs: checkedInstant('until_ms', request.untilMs),
  };
}

function checkedInstant(field: string, ms: bigint): number {
  // An id has 48 bits for its timestamp.
  if (ms < 0n || ms >= 1n << 48n) throw invalidField(field, 'epoch milliseconds, or 0 for no bound');
  return Number(ms);
}
