// Rate limits of keys and accounts: their validation, their form in a database column, and their form in audit events.
import { fieldFault } from '#client/errors/fault.js';
import type { AccountRateLimits, RateLimits } from '#proto/auth/v1/auth.js';
import { modelIdForm } from './fields.js';

const maxima = { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000, concurrent_calls: 1_000_000 };
const modelsMax = 100;

/** Returns the limits, or undefined when none is set. */
export function checkedRateLimits(limits: RateLimits | undefined, field = 'rate_limits'): RateLimits | undefined {
  if (limits === undefined) return undefined;
  const { requestsPerMinute, tokensPerMinute, concurrentCalls } = limits;
  check(`${field}.requests_per_minute`, requestsPerMinute, maxima.requests_per_minute);
  check(`${field}.tokens_per_minute`, tokensPerMinute, maxima.tokens_per_minute);
  check(`${field}.concurrent_calls`, concurrentCalls, maxima.concurrent_calls);
  if (requestsPerMinute === undefined && tokensPerMinute === undefined && concurrentCalls === undefined) return undefined;
  return { requestsPerMinute, tokensPerMinute, concurrentCalls };
}

function check(field: string, value: number | undefined, max: number): void {
  if (value !== undefined && value > max) throw fieldFault(field, 'range', { min: 0, max });
}

/** Returns the limits with the models in order of their ids, or undefined when none is set. */
export function checkedAccountRateLimits(limits: AccountRateLimits | undefined): AccountRateLimits | undefined {
  if (limits === undefined) return undefined;
  if (limits.models.length > modelsMax) throw fieldFault('rate_limits.models', 'max_models', { max: modelsMax });
  const ids = new Set(limits.models.map(({ modelId }) => modelId));
  if (ids.size < limits.models.length || ![...ids].every((id) => modelIdForm.test(id))) {
    throw fieldFault('rate_limits.models', 'distinct_models');
  }
  const models = limits.models
    .map(({ modelId, limits: ofModel }) => ({ modelId, limits: checkedRateLimits(ofModel, 'rate_limits.models.limits') }))
    .filter((each) => each.limits !== undefined)
    .toSorted((a, b) => (a.modelId < b.modelId ? -1 : 1));
  const allModels = checkedRateLimits(limits.allModels, 'rate_limits.all_models');
  return allModels === undefined && models.length === 0 ? undefined : { allModels, models };
}

interface Columns {
  rpm?: number | undefined;
  tpm?: number | undefined;
  concurrency?: number | undefined;
}

/** Returns limits as the words of the CLI and the console, for audit events and the column. */
export function rateLimitWords(limits: RateLimits | undefined): Columns | null {
  if (limits === undefined) return null;
  return { rpm: limits.requestsPerMinute, tpm: limits.tokensPerMinute, concurrency: limits.concurrentCalls };
}

/** Returns the limits of an account in the same words. */
export function accountRateLimitWords(limits: AccountRateLimits | undefined): object | null {
  if (limits === undefined) return null;
  const models = Object.fromEntries(limits.models.map(({ modelId, limits: ofModel }) => [modelId, rateLimitWords(ofModel)]));
  return { ...rateLimitWords(limits.allModels), ...(limits.models.length === 0 ? {} : { models }) };
}

/** Returns limits as the text in a column; null for none. */
export const rateLimitsColumn = (limits: RateLimits | undefined): string | null =>
  limits === undefined ? null : JSON.stringify(rateLimitWords(limits));

/** Returns the limits of an account as the text in a column; null for none. */
export const accountRateLimitsColumn = (limits: AccountRateLimits | undefined): string | null =>
  limits === undefined ? null : JSON.stringify(accountRateLimitWords(limits));

/** Returns the limits in a column. */
export function rateLimitsIn(text: string): RateLimits {
  return toRateLimits(JSON.parse(text) as Columns);
}

/** Returns the limits of an account in a column. */
export function accountRateLimitsIn(text: string): AccountRateLimits {
  const { models = {}, ...all } = JSON.parse(text) as Columns & { models?: Record<string, Columns> };
  return {
    allModels: Object.keys(all).length === 0 ? undefined : toRateLimits(all),
    models: Object.entries(models)
      .map(([modelId, limits]) => ({ modelId, limits: toRateLimits(limits) }))
      .toSorted((a, b) => (a.modelId < b.modelId ? -1 : 1)),
  };
}

function toRateLimits({ rpm, tpm, concurrency }: Columns): RateLimits {
  return { requestsPerMinute: rpm, tokensPerMinute: tpm, concurrentCalls: concurrency };
}
