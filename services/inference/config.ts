// The settings that the inference service reads from its environment.
import { addressOf } from '#kit/config/addresses.js';
import { headerSecret } from '#kit/config/forms.js';
import { duration, flag, integer, oneOf, type Setting, type Settings, text, type Values } from '#kit/config/settings.js';
import { databaseUrl, migrationDatabaseUrl } from '#kit/db/part.js';
import { lostSecretKey } from '#kit/secrets/secret-keeper.js';
import { isAllowableField } from '#rules/wire/request-fields.js';
import { parseBaseUrl } from './upstreams/http/base-url.js';

/** Settings of the inference service. All have defaults; without vendor keys only the sandbox and stored upstreams are available. */
export const inferenceSettings = {
  openaiApiKey: headerSecret('OPENAI_API_KEY', 'key of an OpenAI account; adds the managed upstream "openai"'),
  openaiBaseUrl: vendorUrl('OPENAI_BASE_URL', 'openai', 'https://api.openai.com/v1'),
  openaiApiFormat: oneOf(
    'OPENAI_API_FORMAT',
    'API format of the managed upstream "openai": chat-completions or responses; clients of that format get everything that the vendor offers in it',
    ['chat-completions', 'responses'],
    { default: 'chat-completions' },
  ),
  openaiWholeAnswers: flag('OPENAI_WHOLE_ANSWERS', 'do not stream short responses from the managed upstream "openai"', { default: false }),
  openaiAllowedFields: fieldPaths('OPENAI_ALLOWED_FIELDS', 'openai'),
  anthropicApiKey: headerSecret('ANTHROPIC_API_KEY', 'key of an Anthropic account; adds the managed upstream "anthropic"'),
  anthropicBaseUrl: vendorUrl('ANTHROPIC_BASE_URL', 'anthropic', 'https://api.anthropic.com/v1'),
  anthropicWholeAnswers: flag('ANTHROPIC_WHOLE_ANSWERS', 'do not stream short responses from the managed upstream "anthropic"', {
    default: false,
  }),
  anthropicAllowedFields: fieldPaths('ANTHROPIC_ALLOWED_FIELDS', 'anthropic'),
  connectTimeoutMs: duration('TOLLGATE_INFERENCE_CONNECT_TIMEOUT', 'how long to wait for a connection to an upstream', {
    minMs: 10,
    maxMs: 60_000,
    default: 5000,
  }),
  firstTokenTimeoutMs: duration(
    'TOLLGATE_INFERENCE_FIRST_TOKEN_TIMEOUT',
    "how long to wait, after a request is sent, for an upstream's first event, or for a whole answer",
    { minMs: 10, maxMs: 3_600_000, default: 60_000 },
  ),
  idleTimeoutMs: duration('TOLLGATE_INFERENCE_IDLE_TIMEOUT', 'how long an upstream may send nothing within a response', {
    minMs: 10,
    maxMs: 3_600_000,
    default: 60_000,
  }),
  totalTimeoutMs: duration('TOLLGATE_INFERENCE_TOTAL_TIMEOUT', 'longest duration of a call, including all attempts', {
    minMs: 10,
    maxMs: 86_400_000,
    default: 600_000,
  }),
  failuresMax: integer('TOLLGATE_INFERENCE_FAILURES_MAX', 'consecutive failures after which a target is ejected', {
    min: 1,
    max: 1000,
    default: 5,
  }),
  failurePercentMax: integer(
    'TOLLGATE_INFERENCE_FAILURE_PERCENT_MAX',
    'share of failed and slow calls, in percent, at which a target is ejected',
    { min: 1, max: 100, default: 50 },
  ),
  failureCallsMin: integer(
    'TOLLGATE_INFERENCE_FAILURE_CALLS_MIN',
    'minimum number of calls within the window before a target can be ejected for its failure rate',
    { min: 2, max: 1_000_000, default: 20 },
  ),
  failureWindowMs: duration('TOLLGATE_INFERENCE_FAILURE_WINDOW', 'the window in which the share of failed and slow calls is judged', {
    minMs: 100,
    maxMs: 3_600_000,
    default: 30_000,
  }),
  ejectionBaseMs: duration(
    'TOLLGATE_INFERENCE_EJECTION_BASE',
    'how long a target is ejected the first time; each further ejection lasts this much longer',
    { minMs: 100, maxMs: 3_600_000, default: 30_000 },
  ),
  ejectionMaxMs: duration('TOLLGATE_INFERENCE_EJECTION_MAX', 'how long a target is ejected at most', {
    minMs: 100,
    maxMs: 86_400_000,
    default: 300_000,
  }),
  ejectedPercentMax: integer(
    'TOLLGATE_INFERENCE_EJECTED_PERCENT_MAX',
    "largest share of a model's targets that may be ejected at the same time, in percent; one of several targets may always be ejected, the only target never",
    { min: 0, max: 100, default: 80 },
  ),
  retryPauseMs: duration('TOLLGATE_INFERENCE_RETRY_PAUSE', 'pause before the only target of a model is tried a second time', {
    minMs: 0,
    maxMs: 2000,
    default: 250,
  }),
  retryPercent: integer('TOLLGATE_INFERENCE_RETRY_PERCENT', 'highest number of retries per hundred calls of a model, beyond the minimum', {
    min: 0,
    max: 1000,
    default: 20,
  }),
  retriesPerSecondMin: integer(
    'TOLLGATE_INFERENCE_RETRIES_PER_SECOND_MIN',
    'retries per second of a model that are always allowed, in each thread and process',
    { min: 0, max: 10_000, default: 10 },
  ),
  affinityBytesMin: integer(
    'TOLLGATE_INFERENCE_AFFINITY_BYTES_MIN',
    'minimum size of a prompt, in bytes, for routing calls with the same prompt prefix to the same target; vendors cache prompts of about this size and more',
    { min: 0, max: 1 << 30, default: 4096 },
  ),
  paceWaitMs: duration(
    'TOLLGATE_INFERENCE_PACE_WAIT',
    "how long a call waits if the vendors' requests or tokens per minute are used up at all targets of its model; then it is refused with 429",
    { minMs: 0, maxMs: 60_000, default: 2000 },
  ),
  countTimeoutMs: duration(
    'TOLLGATE_INFERENCE_COUNT_TIMEOUT',
    "how long to wait for an upstream's own token count before it is estimated",
    { minMs: 10, maxMs: 60_000, default: 5000 },
  ),
  wholeTokensMax: integer(
    'TOLLGATE_INFERENCE_WHOLE_TOKENS_MAX',
    'highest output cap at which a response counts as short, for upstreams that do not stream short responses',
    { min: 1, max: 1_000_000, default: 1024 },
  ),
  connectionsMax: integer('TOLLGATE_INFERENCE_CONNECTIONS_MAX', 'maximum number of calls in flight from this process to one upstream', {
    min: 1,
    max: 100_000,
    default: 1000,
  }),
  eventBytesMax: integer('TOLLGATE_INFERENCE_EVENT_BYTES_MAX', 'largest single event accepted from an upstream, in bytes', {
    min: 1024,
    max: 1 << 28,
    default: 4 << 20,
  }),
  responseBytesMax: integer('TOLLGATE_INFERENCE_RESPONSE_BYTES_MAX', 'largest whole answer accepted from an upstream, in bytes', {
    min: 1024,
    max: 1 << 30,
    default: 64 << 20,
  }),
  headerBytesMax: integer('TOLLGATE_INFERENCE_HEADER_BYTES_MAX', 'largest response header accepted from an upstream, in bytes', {
    min: 1024,
    max: 1 << 20,
    default: 16_384,
  }),
  errorBodyBytesMax: integer('TOLLGATE_INFERENCE_ERROR_BODY_BYTES_MAX', "how much of an upstream's error body is read, in bytes", {
    min: 256,
    max: 1 << 20,
    default: 65_536,
  }),
  propagateTrace: oneOf(
    'TOLLGATE_INFERENCE_PROPAGATE_TRACE',
    'which upstreams receive the traceparent header: none, those that may be in a private network, or all',
    ['never', 'private', 'always'],
    { default: 'private' },
  ),
  sandboxWholeAnswers: flag('TOLLGATE_INFERENCE_SANDBOX_WHOLE_ANSWERS', 'do not stream short responses of the sandbox models', {
    default: false,
  }),
  sandboxTokenDelayMs: duration('TOLLGATE_INFERENCE_SANDBOX_TOKEN_DELAY', 'delay before each token of the sandbox models', {
    minMs: 0,
    maxMs: 10_000,
    default: 0,
  }),
} satisfies Settings;

/** Settings of inference as a process of its own. */
export const inferenceProcessSettings = {
  ...inferenceSettings,
  databaseUrl: databaseUrl('TOLLGATE_INFERENCE_DATABASE_URL'),
  migrationDatabaseUrl: migrationDatabaseUrl('TOLLGATE_INFERENCE_MIGRATION_DATABASE_URL'),
  authAddress: addressOf('auth'),
  lostSecretKey,
  secretKeyPath: text(
    'TOLLGATE_INFERENCE_SECRET_KEY_FILE',
    'file with the keys, one per line, the first of which encrypts upstream credentials; the same for every replica; created if it does not exist, unless the database has secrets',
    { default: './data/secret-key' },
  ),
} satisfies Settings;

/** The base URL of a vendor, which is checked even without a key, because the key may be added later. */
function vendorUrl(env: string, upstreamId: string, byDefault: string): Setting<string> {
  return {
    env,
    description: `base URL of the managed upstream "${upstreamId}"`,
    default: byDefault,
    parse(value) {
      try {
        parseBaseUrl(value, true);
      } catch {
        throw new Error('must be an http or https URL that can be connected to, without credentials, query or fragment');
      }
      return value;
    },
  };
}

/** Names of request fields, separated by commas. */
function fieldPaths(env: string, upstreamId: string): Setting<readonly string[] | undefined> {
  return {
    env,
    description: `request fields that clients may send to the managed upstream "${upstreamId}" in addition to the standard fields, for example top_a,options.num_ctx`,
    default: undefined,
    parse(value) {
      const paths = value.split(',').map((path) => path.trim());
      if (!paths.every(isAllowableField))
        throw new Error('must be names of request fields that set neither the model, the output cap, the number of answers nor an account');
      return paths;
    },
  };
}

/** Parsed settings of the inference service. */
export type InferenceConfig = Values<typeof inferenceSettings>;
