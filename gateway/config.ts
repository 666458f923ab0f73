// Settings of the gateway.
import { addressOf } from '#kit/config/addresses.js';
import { promptLogging } from '#kit/config/prompt-logging.js';
import {
  checkTogether,
  ConfigError,
  duration,
  flag,
  integer,
  oneOf,
  optionalText,
  type Settings,
  text,
  type Values,
} from '#kit/config/settings.js';
import { traceUrl } from '#kit/config/trace-url.js';
import { formatUsd, parseUsd } from '#rules/money/money.js';
import { limitSettings } from './limits/settings.js';

/** Every setting of the gateway, for parseSettings and the configuration reference. */
export const gatewaySettings = {
  port: integer('PORT', 'TCP port of the public HTTP address; 0 chooses a free one', { min: 0, max: 65_535, default: 8080 }),
  host: text('TOLLGATE_GATEWAY_HOST', 'address to listen on; 0.0.0.0 for all, behind TLS', { default: '127.0.0.1' }),
  bodyBytesMax: integer('TOLLGATE_GATEWAY_BODY_BYTES_MAX', 'largest request body, decompressed', {
    min: 1024,
    max: 256 * 1024 * 1024,
    default: 32 * 1024 * 1024,
  }),
  bodiesBytesMax: integer(
    'TOLLGATE_GATEWAY_BODIES_BYTES_MAX',
    'bytes of request bodies that are read at the same time, decompressed, before further ones are refused with 503',
    { min: 1024 * 1024, max: 64 * 1024 * 1024 * 1024, default: 256 * 1024 * 1024 },
  ),
  bodiesBytesPerAccountMax: integer('TOLLGATE_GATEWAY_BODIES_BYTES_PER_ACCOUNT_MAX', 'the same for the bodies of one account', {
    min: 1024 * 1024,
    max: 64 * 1024 * 1024 * 1024,
    default: 128 * 1024 * 1024,
  }),
  uploadBytesPerSecondMin: integer(
    'TOLLGATE_GATEWAY_UPLOAD_BYTES_PER_SECOND_MIN',
    'rate below which the upload of a request body is cut off with 408, over 5 seconds; 0 disables this',
    { min: 0, max: 1024 * 1024, default: 1024 },
  ),
  countsPerMinuteMax: integer(
    'TOLLGATE_GATEWAY_COUNTS_PER_MINUTE_MAX',
    'token counts (count_tokens) per key and minute before further ones are refused with 429; without Redis, each gateway counts on its own',
    { min: 1, max: 10_000_000, default: 600 },
  ),
  managementPerMinuteMax: integer(
    'TOLLGATE_GATEWAY_MANAGEMENT_PER_MINUTE_MAX',
    'requests per management key and minute before further ones are refused with 429; without Redis, each gateway counts on its own',
    { min: 1, max: 1_000_000, default: 600 },
  ),
  callsMax: integer('TOLLGATE_GATEWAY_CALLS_MAX', 'calls in flight before new ones are refused with 503', {
    min: 1,
    max: 1_000_000,
    default: 2000,
  }),
  callsPerAccountMax: integer(
    'TOLLGATE_GATEWAY_CALLS_PER_ACCOUNT_MAX',
    'calls of one account in flight before its new ones are refused with 503',
    { min: 1, max: 1_000_000, default: 1000 },
  ),
  ...limitSettings,
  connectionsMax: integer('TOLLGATE_GATEWAY_CONNECTIONS_MAX', 'open client connections before new ones are closed immediately', {
    min: 1,
    max: 1_000_000,
    default: 10_000,
  }),
  keysCachedMax: integer('TOLLGATE_GATEWAY_KEYS_CACHED_MAX', 'keys kept in the local cache', { min: 1, max: 10_000_000, default: 100_000 }),
  keysWithoutAuthMs: duration(
    'TOLLGATE_GATEWAY_KEYS_WITHOUT_AUTH',
    'how long keys that this gateway knows are served while auth is unavailable; meanwhile a key that is revoked, disabled or restricted keeps working as before; with 0 they are served for about a second',
    { minMs: 0, maxMs: 86_400_000, default: 0 },
  ),
  holdTtlMs: duration('TOLLGATE_GATEWAY_HOLD_TTL', 'lifetime of a hold without a checkpoint', {
    minMs: 1000,
    maxMs: 3_600_000,
    default: 120_000,
  }),
  checkpointIntervalMs: duration('TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL', 'how often the usage so far is checkpointed', {
    minMs: 50,
    maxMs: 60_000,
    default: 1000,
  }),
  rpcTimeoutMs: duration('TOLLGATE_GATEWAY_RPC_TIMEOUT', 'how long to wait for a service before a call is refused', {
    minMs: 50,
    maxMs: 60_000,
    default: 5000,
  }),
  spoolAfterMs: duration(
    'TOLLGATE_GATEWAY_SPOOL_AFTER',
    'how long to try metering before the report of an ended call is written to the spool instead',
    { minMs: 0, maxMs: 60_000, default: 2000 },
  ),
  spoolDir: optionalText(
    'TOLLGATE_GATEWAY_SPOOL_DIR',
    'folder of the spool, used by this gateway only and on a disk that survives it; if unset, spool in TOLLGATE_DATA_DIR, or ./data/spool for a gateway process',
  ),
  spoolBytesMax: integer('TOLLGATE_GATEWAY_SPOOL_BYTES_MAX', 'size of the spool beyond which ended calls wait for metering in memory', {
    min: 1024,
    max: 16 * 1024 * 1024 * 1024,
    default: 64 * 1024 * 1024,
  }),
  spoolReportsMax: integer(
    'TOLLGATE_GATEWAY_SPOOL_REPORTS_MAX',
    'calls in the spool beyond which ended calls wait for metering in memory',
    { min: 1, max: 10_000_000, default: 50_000 },
  ),
  recordPatienceMs: duration(
    'TOLLGATE_GATEWAY_RECORD_PATIENCE',
    'how long an ended call waits for metering or the spool before its client gets an error instead of the end',
    { minMs: 0, maxMs: 600_000, default: 15_000 },
  ),
  recordPersistenceMs: duration(
    'TOLLGATE_GATEWAY_RECORD_PERSISTENCE',
    'how long to keep trying to record an ended call that even the spool did not accept',
    { minMs: 0, maxMs: 86_400_000, default: 3_600_000 },
  ),
  callTimeoutMs: duration('TOLLGATE_GATEWAY_CALL_TIMEOUT', 'longest duration of one call', {
    minMs: 1000,
    maxMs: 86_400_000,
    default: 900_000,
  }),
  readOnTimeMs: duration(
    'TOLLGATE_GATEWAY_READ_ON_TIME',
    "how long an answer is still read after its client disconnected, to get the upstream's own figures; 0 disables this",
    { minMs: 0, maxMs: 600_000, default: 3000 },
  ),
  readOnTokensMax: integer(
    'TOLLGATE_GATEWAY_READ_ON_TOKENS_MAX',
    'maximum number of output tokens that are read, and therefore charged, after a client disconnected',
    { min: 0, max: 1_000_000, default: 256 },
  ),
  readOnCallsMax: integer(
    'TOLLGATE_GATEWAY_READ_ON_CALLS_MAX',
    'answers read after a disconnect at the same time, and calls that wait for a retry; further ones are cancelled immediately',
    { min: 0, max: 100_000, default: 100 },
  ),
  retryWaitMs: duration(
    'TOLLGATE_GATEWAY_RETRY_WAIT',
    'how long a call waits for the retry of an official client library that disconnected before it received anything, in addition to the delay of the library, and how long the pauses of another gateway may be for which a retry waits; 0 disables this',
    { minMs: 0, maxMs: 600_000, default: 2000 },
  ),
  keepAliveIntervalMs: duration('TOLLGATE_GATEWAY_KEEP_ALIVE_INTERVAL', 'silence on a stream before a keep-alive is sent', {
    minMs: 100,
    maxMs: 600_000,
    default: 15_000,
  }),
  slowReaderTimeoutMs: duration(
    'TOLLGATE_GATEWAY_SLOW_READER_TIMEOUT',
    'how long a stream or an export may stall because its client does not read',
    {
      minMs: 100,
      maxMs: 3_600_000,
      default: 60_000,
    },
  ),
  keptAnswerBytesMax: integer(
    'TOLLGATE_GATEWAY_KEPT_ANSWER_BYTES_MAX',
    'largest answer that is kept for repeats with the same Idempotency-Key, or stored in the responses format with its input',
    { min: 1, max: 6 * 1024 * 1024, default: 4 * 1024 * 1024 },
  ),
  storedResponseTtlMs: duration(
    'TOLLGATE_GATEWAY_STORED_RESPONSE_TTL',
    'how long an answer of /v1/responses is stored after its last use, encrypted, for previous_response_id and item_reference; 0 stores none',
    { minMs: 0, maxMs: 30 * 86_400_000, default: 86_400_000 },
  ),
  upstreamsIntervalMs: duration('TOLLGATE_GATEWAY_UPSTREAMS_INTERVAL', 'how often the list of upstreams is read', {
    minMs: 50,
    maxMs: 60_000,
    default: 1000,
  }),
  trustProxy: flag('TOLLGATE_GATEWAY_TRUST_PROXY', 'trust X-Forwarded-For and X-Forwarded-Proto', { default: false }),
  proxies: integer(
    'TOLLGATE_GATEWAY_PROXIES',
    'number of your own proxies in front of the gateway, each of which appends to X-Forwarded-For; earlier entries are ignored, because any client could have sent them',
    { min: 1, max: 10, default: 1 },
  ),
  publicUrl: {
    env: 'TOLLGATE_GATEWAY_PUBLIC_URL',
    description:
      'where browsers reach this gateway, for example https://ai.example.com/tollgate, for links that lead back to it; if unset, the address of each request is used',
    default: undefined,
    parse: baseUrl,
  },
  landingPage: flag('TOLLGATE_GATEWAY_LANDING_PAGE', 'show a landing page at / to visitors; otherwise / redirects to the console', {
    default: true,
  }),
  catalogSandbox: flag('TOLLGATE_GATEWAY_CATALOG_SANDBOX', 'list the built-in sandbox models on the public pages', { default: true }),
  modelPerformance: flag(
    'TOLLGATE_GATEWAY_MODEL_PERFORMANCE',
    'show the measured speed and availability of models with at least 50 calls on the public pages and in /v1/catalog, /models.json and /models.csv',
    { default: true },
  ),
  operatorDocs: oneOf(
    'TOLLGATE_GATEWAY_OPERATOR_DOCS',
    "who may read the operators' pages of the docs: everybody, or operators who are signed in to the console",
    ['everybody', 'operators'],
    { default: 'everybody' },
  ),
  traceUrl,
  promptLogging,
  promptLogQueueCharsMax: integer(
    'TOLLGATE_GATEWAY_PROMPT_LOG_QUEUE_CHARS_MAX',
    'characters of prompts and answers that may wait to be logged; beyond that, those of further calls are not kept',
    { min: 0, max: 1_073_741_824, default: 16_777_216 },
  ),
  confirmAboveNanoUsd: {
    env: 'TOLLGATE_GATEWAY_CONFIRM_ABOVE_USD',
    description:
      'credits, debits, reversals and batches of redemption codes above this amount require a confirmation by the operator who creates them in the console',
    default: 100_000_000_000n,
    parse(value: string) {
      const amount = parseUsd(value);
      if (amount === undefined || amount < 0n) throw new Error('must be an amount in USD such as 100');
      return amount;
    },
    show: formatUsd,
  },
} satisfies Settings;

/** Where a gateway process finds the services. */
export const peerSettings = {
  auth: addressOf('auth'),
  catalog: addressOf('catalog'),
  ledger: addressOf('ledger'),
  metering: addressOf('metering'),
  inference: addressOf('inference'),
} satisfies Settings;

/** Parses an address and removes a trailing slash. */
function baseUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.username !== '') {
    throw new Error('must be an address such as https://ai.example.com');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** What is checked of them together. */
export const gatewayCheck = checkTogether(gatewaySettings, (config) => {
  const { checkpointIntervalMs, holdTtlMs, bodyBytesMax } = config;
  const faults: string[] = [];
  // A hold that expires while its call runs lets other calls spend the same money.
  if (checkpointIntervalMs >= holdTtlMs)
    faults.push('TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL must be shorter than TOLLGATE_GATEWAY_HOLD_TTL, so that holds outlive their calls');
  // A larger body would be refused with advice to try again, however idle the gateway is.
  for (const name of ['bodiesBytesMax', 'bodiesBytesPerAccountMax'] as const)
    if (config[name] < bodyBytesMax)
      faults.push(
        `${gatewaySettings[name].env} must be at least TOLLGATE_GATEWAY_BODY_BYTES_MAX (${bodyBytesMax}), so that the largest body is accepted (it is "${config[name]}")`,
      );
  if (faults.length > 0) throw new ConfigError(faults);
});

/** The parsed settings of the gateway. */
export type GatewayConfig = Values<typeof gatewaySettings>;
