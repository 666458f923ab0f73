// Creates the record of an ended call: the one place where the charging rule of an outcome, the validation of its quantities and its price
// come together. Pure.
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { Outcome, PromptLogState, type StoredResponse, type UsageRecord, UsageSource } from '#proto/metering/v1/metering.js';
import { type KnownOutcome, outcomeRules } from '#rules/money/outcomes.js';
import { chargeFor, countRequests } from '#rules/money/pricing.js';
import { outcomeDetailOf, type PricedCall } from '../requests/validate-call.js';
import { validateUsage } from '../requests/validate-usage.js';

/** Holds what is known about a call when it ends. */
export interface EndedCall {
  readonly call: PricedCall;
  readonly tokens: TokenCounts;
  readonly source: UsageSource;
  readonly outcome: KnownOutcome;
  readonly outcomeDetail: string;
  readonly firstOutputMs: number | undefined;
  readonly durationMs: number;
  /** Charge nothing, regardless of the tokens. */
  readonly free: boolean;
  /** Whether the reporting gateway already found the upstream's figures implausible. */
  readonly quarantined: boolean;
  /** Returned to repeats of a call with an idempotency key; empty if none. */
  readonly storedAnswer: Buffer;
  /** The response to which later requests may refer. */
  readonly storedResponse?: StoredResponse | undefined;
  /** Whether the call is certainly not among the calls in flight. */
  readonly neverCheckpointed?: boolean | undefined;
}

/** Holds a record as it is stored. */
export interface PricedRecord {
  readonly record: UsageRecord & { call: PricedCall; tokens: TokenCounts };
  /** Stored next to the tokens, so that the charge can be recomputed from the record alone. */
  readonly free: boolean;
  /** Stored next to the record; see `closeKey`. */
  readonly storedAnswer: Buffer;
  /** Stored next to the record; see `storeResponses`. */
  readonly storedResponse?: StoredResponse | undefined;
  readonly neverCheckpointed?: boolean | undefined;
}

/**
 * Prices an ended call. Counts that violate a rule are lowered to satisfy it, and the record is quarantined. A call that is charged counts
 * as one request; of a lost one only its last checkpoint says whether anything had been delivered.
 */
export function priceRecord(ended: EndedCall, recordedAtMs: number): PricedRecord {
  const { price } = ended.call;
  const { tokens: valid, brokenRules } = validateUsage(ended.tokens, ended.source, ended.call);
  const broken = brokenRules.length > 0;
  const free = ended.free || outcomeRules[ended.outcome].charged === 'never';
  const isLost = ended.outcome === Outcome.OUTCOME_GATEWAY_LOST;
  const tokens = isLost && !free ? valid : countRequests(valid, price, free ? 0 : 1);
  const charge = chargeFor(tokens, price);
  return {
    free,
    storedAnswer: ended.storedAnswer,
    storedResponse: ended.storedResponse,
    neverCheckpointed: ended.neverCheckpointed,
    record: {
      call: ended.call,
      tokens,
      source: broken ? UsageSource.USAGE_SOURCE_ESTIMATED : ended.source,
      outcome: ended.outcome,
      outcomeDetail: outcomeDetailOf(ended.outcomeDetail, ...brokenRules),
      chargeNanoUsd: free ? 0n : charge.chargeNanoUsd,
      lineItems: free ? [] : [...charge.lineItems],
      firstOutputMs: ended.firstOutputMs,
      durationMs: ended.durationMs,
      recordedAtMs: BigInt(recordedAtMs),
      settlement: undefined,
      quarantined: ended.quarantined || broken,
      promptLog: PromptLogState.PROMPT_LOG_STATE_UNSPECIFIED,
    },
  };
}
