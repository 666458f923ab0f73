// Calls, prices and token counts for tests.
import { newId } from '#kit/id.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { PriceVersion } from '#proto/catalog/v1/catalog.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { Call, Outcome, RecordUsageRequest, UsageSource } from '#proto/metering/v1/metering.js';

/** When the calls of tests start by default. */
export const startedAtMs = 1_800_000_000_000n;

/** Returns token counts; classes not named are zero. */
export function tokens(counts: Partial<TokenCounts> = {}): TokenCounts {
  return TokenCounts.fromPartial(counts);
}

/** Returns a price version: 1 USD input, 2 USD output per million tokens, unless `changes` says otherwise. */
export function price(changes: Partial<PriceVersion> = {}): PriceVersion {
  return PriceVersion.fromPartial({
    id: newId('price'),
    modelId: 'sandbox/echo',
    effectiveFromMs: 1_700_000_000_000n,
    inputNanoUsdPerMtok: 1_000_000_000n,
    cacheReadNanoUsdPerMtok: 100_000_000n,
    cacheWrite5mNanoUsdPerMtok: 1_250_000_000n,
    cacheWrite1hNanoUsdPerMtok: 2_000_000_000n,
    outputNanoUsdPerMtok: 2_000_000_000n,
    createdAtMs: 1_700_000_000_000n,
    ...changes,
  });
}

/** Returns a call with an account and key of its own, in the default project. */
export function call(changes: Partial<Call> = {}): Call {
  const { accountId = newId('acct') } = changes;
  return Call.fromPartial({
    id: newId('req'),
    accountId,
    projectId: accountId.replace(/^acct/, 'proj'),
    keyId: newId('key'),
    modelId: 'sandbox/echo',
    upstreamId: 'sandbox',
    upstreamModel: 'echo',
    format: ApiFormat.API_FORMAT_MESSAGES,
    streaming: true,
    price: price(),
    heldNanoUsd: 5_000_000n,
    outputCapTokens: 1000,
    startedAtMs,
    traceId: '0af7651916cd43dd8448eb211c80319c',
    clientRequestId: 'client-1',
    ...changes,
  });
}

/** Returns the report of a completed call: 100 tokens in, 50 out, which cost 200,000 nano-USD at the default price. */
export function report(changes: Partial<RecordUsageRequest> = {}): RecordUsageRequest {
  return RecordUsageRequest.fromPartial({
    call: call(),
    tokens: tokens({ inputTokens: 100, outputTokens: 50 }),
    source: UsageSource.USAGE_SOURCE_REPORTED,
    outcome: Outcome.OUTCOME_COMPLETED,
    outcomeDetail: '',
    firstOutputMs: 120,
    durationMs: 900,
    ...changes,
  });
}
