// Makes the record of an ended call: the one place where the rule of an outcome, the validity of its token counts and its price
// come together. Pure.
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type UsageRecord, UsageSource } from '#proto/metering/v1/metering.js';
import { type KnownOutcome, outcomeRules } from '#rules/outcomes.js';
import { chargeFor } from '#rules/pricing.js';
import { outcomeDetailOf, type PricedCall } from '../requests/validate-call.js';
import { validateUsage } from '../requests/validate-usage.js';

/** What is known of a call when it ends. */
export interface EndedCall {
  readonly call: PricedCall;
  readonly tokens: TokenCounts;
  readonly source: UsageSource;
  readonly outcome: KnownOutcome;
  readonly outcomeDetail: string;
  readonly firstOutputMs: number | undefined;
  readonly durationMs: number;
  /** Charge nothing, whatever the tokens. */
  readonly free: boolean;
  /** Whoever reports already found the upstream's figures to be nonsense. */
  readonly quarantined: boolean;
  /** To be given again to repeats of a call with an idempotency key; empty: none. */
  readonly storedAnswer: Buffer;
}

/** A record as it is stored. */
export interface PricedRecord {
  readonly record: UsageRecord & { call: PricedCall; tokens: TokenCounts };
  /** Kept beside the tokens, so that the charge can be recomputed from the record alone. */
  readonly free: boolean;
  /** Stored beside the record; see `closeKey`. */
  readonly storedAnswer: Buffer;
}

/** Prices an ended call. Token counts that break a rule are brought within it and quarantine the record. */
export function priceRecord(ended: EndedCall, recordedAtMs: number): PricedRecord {
  const { tokens, brokenRules } = validateUsage(ended.tokens, ended.source, ended.call.outputCapTokens);
  const broken = brokenRules.length > 0;
  const free = ended.free || outcomeRules[ended.outcome].charged === 'never';
  const charge = chargeFor(tokens, ended.call.price);
  return {
    free,
    storedAnswer: ended.storedAnswer,
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
    },
  };
}
