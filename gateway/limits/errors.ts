// The error of a call that a rate limit refuses. Pure.
import type { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { retryAfterSeconds } from '../formats/errors/error-details.js';
import type { Refusal } from './limits.js';

const limitNames = { requests: 'requests_per_minute', tokens: 'tokens_per_minute', concurrent: 'concurrent_calls' } as const;

/** Returns the error of a request to count tokens. */
export function countRateError({ max, used, retryAfterMs = 1000 }: Refusal): AppError {
  const details = { scope: 'key', limit: 'count_tokens_per_minute', max: String(max), used: String(used), needed: '1' };
  return fault('key_counts', { max, seconds: retryAfterSeconds(retryAfterMs) }, { details, retryAfterMs });
}

/** Returns the error of a request with a management key. */
export function managementRateError({ max, used, retryAfterMs = 1000 }: Refusal): AppError {
  return fault('management_requests', { max, used, seconds: retryAfterSeconds(retryAfterMs) }, { retryAfterMs });
}

/** Returns the error, which names the limit and its figures. */
export function rateLimitError({ figures, limit, max, used, needed, retryAfterMs }: Refusal, modelId: string): AppError {
  const { scope } = figures.subject;
  const details = { scope, limit: limitNames[limit], max: String(max), used: String(used), needed: String(needed) };
  if (retryAfterMs === undefined) return fault('over_token_limit', { max, needed }, { details });
  const params = { max, used, needed, model: modelId, seconds: retryAfterSeconds(retryAfterMs) };
  return fault(`${scope}_${limit}`, params, { details, retryAfterMs });
}
