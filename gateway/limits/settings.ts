// The operator's default rate limits, and where calls are counted.
import { optionalForm } from '#kit/config/forms.js';
import { integer, oneOf, type Settings, type Values } from '#kit/config/settings.js';
import type { RateLimits } from '#proto/auth/v1/auth.js';
import type { DefaultLimits } from './limits.js';

const limit = (name: string, what: string, max: number) =>
  integer(`TOLLGATE_GATEWAY_${name}`, `default limit: ${what}; 0 for none`, { min: 0, max, default: 0 });

const requestsMax = 1_000_000;
const tokensMax = 1_000_000_000;
const callsMax = 1_000_000;

/** Settings of the limits that apply where a key, a project or an account has none of its own, and of the counts. */
export const limitSettings = {
  keyRpm: limit('KEY_RPM', 'requests per minute of a key', requestsMax),
  keyTpm: limit('KEY_TPM', 'tokens per minute of a key', tokensMax),
  keyConcurrency: limit('KEY_CONCURRENCY', 'calls in flight of a key', callsMax),
  projectRpm: limit('PROJECT_RPM', 'requests per minute of a project', requestsMax),
  projectTpm: limit('PROJECT_TPM', 'tokens per minute of a project', tokensMax),
  projectConcurrency: limit('PROJECT_CONCURRENCY', 'calls in flight of a project', callsMax),
  accountRpm: limit('ACCOUNT_RPM', 'requests per minute of an account', requestsMax),
  accountTpm: limit('ACCOUNT_TPM', 'tokens per minute of an account', tokensMax),
  accountConcurrency: limit('ACCOUNT_CONCURRENCY', 'calls in flight of an account', callsMax),
  accountModelRpm: limit('ACCOUNT_MODEL_RPM', 'requests per minute of an account to each model', requestsMax),
  accountModelTpm: limit('ACCOUNT_MODEL_TPM', 'tokens per minute of an account with each model', tokensMax),
  accountModelConcurrency: limit('ACCOUNT_MODEL_CONCURRENCY', 'calls in flight of an account to each model', callsMax),
  redisUrl: optionalForm(
    'TOLLGATE_GATEWAY_REDIS_URL',
    'Redis or Valkey in which several gateways count calls against rate limits together, redis:// or rediss:// with user and password; if unset, each gateway process counts on its own',
    redisUrlOf,
    { secret: true },
  ),
  limitsWithoutRedis: oneOf(
    'TOLLGATE_GATEWAY_LIMITS_WITHOUT_REDIS',
    'what happens to calls with limits while Redis is unavailable: with `local` each gateway enforces its share of every limit, with `refuse` they are refused with 503',
    ['local', 'refuse'],
    { default: 'local' },
  ),
} satisfies Settings;

function redisUrlOf(value: string): string {
  const url = URL.parse(value);
  if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === '')
    throw new Error('must be a URL such as redis://redis.example.com:6379 or rediss://user:password@redis.example.com:6379');
  return value;
}

/** Returns the defaults by what they limit. */
export function defaultLimits(config: Values<typeof limitSettings>): DefaultLimits {
  return {
    key: limits(config.keyRpm, config.keyTpm, config.keyConcurrency),
    project: limits(config.projectRpm, config.projectTpm, config.projectConcurrency),
    account: limits(config.accountRpm, config.accountTpm, config.accountConcurrency),
    accountModel: limits(config.accountModelRpm, config.accountModelTpm, config.accountModelConcurrency),
  };
}

function limits(requestsPerMinute: number, tokensPerMinute: number, concurrentCalls: number): RateLimits | undefined {
  return requestsPerMinute + tokensPerMinute + concurrentCalls === 0 ? undefined : { requestsPerMinute, tokensPerMinute, concurrentCalls };
}
