// Rate limits between the console's JSON and messages. Pure.
import type { AccountRateLimits as AccountMessage, RateLimits as Message } from '#proto/auth/v1/auth.js';
import type { AccountRateLimits, AccountRateLimitsBody, RateLimits, RateLimitsBody } from '../schemas/rate-limits.js';

/** Renders the limits of a key, or of one model. */
export function renderRateLimits(limits: Message | undefined): RateLimits {
  return {
    rpm: limits?.requestsPerMinute ?? null,
    tpm: limits?.tokensPerMinute ?? null,
    concurrency: limits?.concurrentCalls ?? null,
  };
}

/** Renders the limits of an account. */
export function renderAccountRateLimits(limits: AccountMessage | undefined): AccountRateLimits {
  const models = (limits?.models ?? []).map((each) => ({ model_id: each.modelId, ...renderRateLimits(each.limits) }));
  return { ...renderRateLimits(limits?.allModels), models };
}

/** Returns the limits in a body. */
export function rateLimitsOf({ rpm, tpm, concurrency }: RateLimitsBody): Message {
  return { requestsPerMinute: rpm ?? undefined, tokensPerMinute: tpm ?? undefined, concurrentCalls: concurrency ?? undefined };
}

/** Returns the limits of an account in a body. */
export function accountRateLimitsOf(body: AccountRateLimitsBody): AccountMessage {
  const models = (body.models ?? []).map((each) => ({ modelId: each.model_id, limits: rateLimitsOf(each) }));
  return { allModels: rateLimitsOf(body), models };
}
