// Validation of what callers send: rejected with invalid_request, naming the field, before anything is stored.
import { defaultProjectId } from '#rules/default-project.js';
import { AppError } from '#client/errors/app-error.js';
import { isId } from '#kit/id.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import type { TokenCounts, UnitCounts } from '#proto/inference/v1/tokens.js';
import { type Attempt, type Call } from '#proto/metering/v1/metering.js';
import { isUnitName, pricesOutOfBounds, tokensMax, unitFaults, unitPriceNanoUsdMax, unitsMax } from '#rules/money/pricing.js';

const nameCharsMax = 200;
export const clientRequestIdCharsMax = 128;
const outcomeDetailCharsMax = 200;
// The year 9999: far enough, and exactly representable as a number.
const instantMsMax = 253_402_300_799_999n;

/** The UTC offsets of the world's time zones; all of them are whole quarters of an hour. */
const offsetMinutesMin = -720;
const offsetMinutesMax = 840;

const callerFormats: ReadonlySet<ApiFormat> = new Set([
  ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
  ApiFormat.API_FORMAT_MESSAGES,
  ApiFormat.API_FORMAT_RESPONSES,
  ApiFormat.API_FORMAT_EMBEDDINGS,
]);

const hashBytes = 32;
const productForm = /^[a-z][a-z0-9_-]{0,31}$/;
const attemptsMax = 16;
/** The longest that prompts and answers are kept. */
export const promptLogDaysMax = 30;

/** A call that is known to have a price. */
export type PricedCall = Call & { price: PriceVersion };

/** Raises invalid_request naming the field, unless the condition holds. */
export function requireThat(condition: boolean, field: string, must: string): asserts condition {
  if (!condition) throw new AppError('invalid_request', `${field} ${must}.`, { details: { field } });
}

/**
 * Returns the call as it may be stored. Text that is only read by humans is cut to its maximum, because a client's long header must not
 * cause the loss of a record. Raises invalid_request for anything else that is malformed.
 */
export function validateCall(call: Call | undefined): PricedCall {
  requireThat(call !== undefined, 'call', 'is required');
  requireId('req', call.id, 'call.id');
  requireId('acct', call.accountId, 'call.account_id');
  const projectId = call.projectId || defaultProjectId(call.accountId);
  requireId('proj', projectId, 'call.project_id');
  requireId('key', call.keyId, 'call.key_id');
  requireThat(call.modelId !== '' && call.modelId.length <= nameCharsMax, 'call.model_id', `must have 1 to ${nameCharsMax} characters`);
  requireThat(call.upstreamId.length <= nameCharsMax, 'call.upstream_id', `must have at most ${nameCharsMax} characters`);
  requireThat(call.upstreamModel.length <= nameCharsMax, 'call.upstream_model', `must have at most ${nameCharsMax} characters`);
  if (call.product === '') requireThat(callerFormats.has(call.format), 'call.format', 'must be a known format');
  else {
    requireThat(productForm.test(call.product), 'call.product', 'must have 1 to 32 of a-z, 0-9, "-" and "_", and begin with a letter');
    requireThat(call.format === ApiFormat.API_FORMAT_UNSPECIFIED, 'call.format', 'must be unspecified beside product');
  }
  const price = validatePrice(call.price);
  requireThat(call.heldNanoUsd >= 0n, 'call.held_nano_usd', 'must be zero or more');
  requireThat(isUint32(call.outputCapTokens), 'call.output_cap_tokens', 'must be the cap that was sent upstream');
  requireUnits(call.unitCaps, 'call.unit_caps');
  requireThat(isInstant(call.startedAtMs) && call.startedAtMs > 0n, 'call.started_at_ms', 'must be a timestamp in epoch milliseconds');
  requireThat(call.traceId === '' || /^[0-9a-f]{32}$/.test(call.traceId), 'call.trace_id', 'must be empty or 32 hexadecimal digits');
  requireThat(
    call.idempotencyKeyHash.length === 0 || call.idempotencyKeyHash.length === hashBytes,
    'call.idempotency_key_hash',
    `must be empty or ${hashBytes} bytes`,
  );
  return {
    ...call,
    projectId,
    price,
    clientRequestId: call.clientRequestId.slice(0, clientRequestIdCharsMax),
    promptLogDays: Math.min(call.promptLogDays, promptLogDaysMax),
    attempts: call.attempts.slice(0, attemptsMax).map(attemptToStore),
    modelFallback: call.modelFallback && {
      ...call.modelFallback,
      requestedModelId: call.modelFallback.requestedModelId.slice(0, nameCharsMax),
    },
  };
}

/** Returns an attempt as it may be stored: text that is too long is cut, and malformed ids are dropped, because neither must cause the loss of a record. */
function attemptToStore(attempt: Attempt): Attempt {
  const { upstreamId, upstreamModel, reason, upstreamRequestId, credentialId } = attempt;
  return {
    ...attempt,
    ...(credentialId === undefined ? {} : { credentialId: credentialId.slice(0, nameCharsMax) }),
    upstreamId: upstreamId.slice(0, nameCharsMax),
    upstreamModel: upstreamModel.slice(0, nameCharsMax),
    reason: /^\w{0,64}$/.test(reason) ? reason : 'internal',
    upstreamRequestId: /^[\w.:/+=-]{0,128}$/.test(upstreamRequestId) ? upstreamRequestId : '',
  };
}

/** Returns the price of a call, within the bounds that 64-bit arithmetic needs. */
function validatePrice(price: PriceVersion | undefined): PriceVersion {
  requireThat(price !== undefined, 'call.price', 'is required: an unpriced call is refused, never free');
  requireId('price', price.id, 'call.price.id');
  requireThat(price.modelId.length <= nameCharsMax, 'call.price.model_id', `must have at most ${nameCharsMax} characters`);
  requireThat(isInstant(price.effectiveFromMs), 'call.price.effective_from_ms', 'must be a timestamp in epoch milliseconds');
  requireThat(isInstant(price.createdAtMs), 'call.price.created_at_ms', 'must be a timestamp in epoch milliseconds');
  const [outOfBounds] = pricesOutOfBounds(price);
  requireThat(outOfBounds === undefined, `call.price.${outOfBounds}`, `must be from 0 to ${unitPriceNanoUsdMax}`);
  requireThat(price.units.length <= unitsMax, 'call.price.units', `must have at most ${unitsMax} entries`);
  const [fault] = price.units.length === 0 ? [] : unitFaults(price.units);
  requireThat(fault === undefined, `call.price.units[${fault?.index}]`, 'must be a price of the catalog');
  return price;
}

/** Raises invalid_request for a unit that the price does not have: an internal product can correct its report, an upstream cannot. */
export function requirePrices({ units }: TokenCounts, { product, price }: PricedCall): void {
  if (product === '') return;
  for (const [index, { unit }] of (units?.counts ?? []).entries()) {
    const isPriced = price.units.some((each) => each.unit === unit);
    requireThat(isPriced, `tokens.units.counts[${index}].unit`, `must be a unit of the price; "${unit}" has none`);
  }
}

/** Returns the quantities if they are present and well-formed; `validateUsage` checks whether they are plausible. */
export function requireTokens(tokens: TokenCounts | undefined): TokenCounts {
  requireThat(tokens !== undefined, 'tokens', 'is required');
  requireUnits(tokens.units, 'tokens.units');
  return tokens;
}

/** Raises invalid_request for too many counts, malformed names and names that occur twice. */
function requireUnits(units: UnitCounts | undefined, field: string): void {
  if (units === undefined) return;
  const { counts } = units;
  requireThat(counts.length <= unitsMax, `${field}.counts`, `must have at most ${unitsMax} entries`);
  for (const [index, { unit }] of counts.entries()) {
    requireThat(isUnitName(unit), `${field}.counts[${index}].unit`, 'must be the name of a unit');
    requireThat(counts.findIndex((other) => other.unit === unit) === index, `${field}.counts[${index}].unit`, 'must occur once');
  }
}

/** Raises invalid_request unless the text is an id with this prefix. */
export function requireId(prefix: string, id: string, field: string): void {
  requireThat(isId(prefix, id), field, `must be "${prefix}_" followed by 32 lowercase hexadecimal digits`);
}

/** Raises invalid_request unless these are the bytes of a SHA-256. */
export function requireHash(bytes: Uint8Array, field: string): void {
  requireThat(bytes.length === hashBytes, field, `must be ${hashBytes} bytes`);
}

/** Maximum number of parts of stored responses in a request. */
export const namesMax = 1000;

/** Raises invalid_request unless these are 1 to `namesMax` names of parts of stored responses. */
export function requireNames(hashes: readonly Uint8Array[], field: string): void {
  requireThat(hashes.length >= 1 && hashes.length <= namesMax, field, `must be 1 to ${namesMax} hashes`);
  for (const hash of hashes) requireHash(hash, field);
}

/** Raises invalid_request unless the value is a whole number that fits 32 bits. */
export function requireUint32(value: number, field: string): void {
  requireThat(isUint32(value), field, `must be a whole number from 0 to ${tokensMax}`);
}

/** Raises invalid_request unless a time zone of the world has this offset. */
export function requireOffset(offsetMinutes: number): void {
  requireThat(
    offsetMinutes >= offsetMinutesMin && offsetMinutes <= offsetMinutesMax && offsetMinutes % 15 === 0,
    'offset_minutes',
    `must be a multiple of 15 from ${offsetMinutesMin} to ${offsetMinutesMax}`,
  );
}

/** Returns a human-readable cause, cut to what is stored. */
export function outcomeDetailOf(...parts: readonly string[]): string {
  return parts
    .filter((part) => part !== '')
    .join('; ')
    .slice(0, outcomeDetailCharsMax);
}

/** Reports whether the value is a whole number that fits 32 bits. */
export function isUint32(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= tokensMax;
}

/** Reports whether the value is an instant from 1970 to the year 9999 in epoch milliseconds. */
export function isInstant(valueMs: bigint): boolean {
  return valueMs >= 0n && valueMs <= instantMsMax;
}
