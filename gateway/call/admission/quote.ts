// Calculates what a call can cost at most, from the model's limits and the caller's cap. The gateway admits a call only if this much can be held. Pure.
import type { Model, PriceVersion } from '#proto/catalog/v1/catalog.js';
import type { NativeRequest_VendorTool as VendorTool } from '#proto/inference/v1/inference.js';
import { AppError } from '#client/errors/app-error.js';
import type { UnitCounts } from '#proto/inference/v1/tokens.js';
import { affordableTokens, type CostBound, costAtMost, costBound } from '#rules/money/pricing.js';

/** The minimum output cap when the caller gave none and the balance is nearly empty. */
const outputTokensUseful = 256;

/** How much a call may use, according to its body. */
export interface Demand {
  /** The maximum number of input tokens of all text. */
  readonly inputTokensMax: number;
  /** The number of inputs, each of which may fill the context. Absent: one. */
  readonly inputs?: number;
  readonly images: number;
  /** Documents, whose size says nothing about their tokens: with one, the input may fill the context. */
  readonly documents: number;
  /** The caller's own cap on each answer; undefined if none was given. */
  readonly maxOutputTokens?: number;
  /** The number of answers, each with the whole cap. */
  readonly choices: number;
  /**
   * The most of each unit that is not a token; absent for none but the request itself. What a vendor's tools find is input too, so with them the
   * input may fill the context.
   */
  readonly unitCaps?: UnitCounts | undefined;
}

/** The bounds of a call's cost. */
export interface Quote {
  /** The maximum number of input tokens that the hold pays for. */
  readonly inputTokensMax: number;
  /** The maximum cost of these and the output. */
  readonly bound: CostBound;
  /** The maximum number of output tokens per answer that the caller and the model allow. */
  readonly outputCapTokens: number;
  /** The amount to hold if it is available. Zero for a free model. */
  readonly amountNanoUsd: bigint;
  /** The minimum that makes the call worthwhile; equal to the amount if the caller gave a cap. */
  readonly minAmountNanoUsd: bigint;
}

/** Returns the worst case of a call. A cap above the model's limit is lowered to it. */
export function quoteCall(model: Model, price: PriceVersion, demand: Demand): Quote {
  const { maxOutputTokens } = demand;
  const inputTokensMax = inputBound(model, demand);
  const bound = costBound(price, inputTokensMax, demand.choices, demand.unitCaps?.counts);
  const outputCapTokens = Math.min(maxOutputTokens ?? model.outputLimitTokens, model.outputLimitTokens);
  const amountNanoUsd = costAtMost(bound, outputCapTokens);
  return {
    inputTokensMax,
    bound,
    outputCapTokens,
    amountNanoUsd,
    minAmountNanoUsd: maxOutputTokens === undefined ? costAtMost(bound, Math.min(outputCapTokens, outputTokensUseful)) : amountNanoUsd,
  };
}

/** Tokens per image if the catalog gives no maximum: more than vendors count for the largest image. */
export const imageTokensMaxDefault = 16_384;

function inputBound(
  { contextLimitTokens, imageTokensMax }: Model,
  { inputTokensMax, inputs = 1, images, documents, unitCaps }: Demand,
): number {
  if (documents > 0 || unitCaps !== undefined) return contextLimitTokens;
  return Math.min(contextLimitTokens * inputs, inputTokensMax + images * (imageTokensMax || imageTokensMaxDefault));
}

/**
 * Returns the most that a call with these tools may use of each unit: what the caller allows, up to the cap of the price; undefined if no
 * tool has a unit with a price.
 */
export function unitCapsOf(tools: readonly VendorTool[], { units }: PriceVersion): UnitCounts | undefined {
  if (tools.length === 0) return undefined;
  const counts = units.flatMap(({ unit, maxPerCall }) => {
    const uses = tools.filter((tool) => tool.unit === unit).map(({ maxUses }) => maxUses ?? maxPerCall);
    const wanted = uses.reduce((sum, each) => sum + each, 0);
    return wanted === 0 ? [] : [{ unit, count: Math.min(maxPerCall, wanted) }];
  });
  return counts.length === 0 ? undefined : { counts };
}

/** Returns the cap on the output of each answer that a held amount pays for. */
export function affordableOutputTokens({ bound, outputCapTokens }: Quote, heldNanoUsd: bigint): number {
  return affordableTokens(bound, heldNanoUsd, outputCapTokens);
}

/** Reports whether the ledger refused a hold for lack of money. */
export function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && ['balance_empty', 'balance_held', 'key_limit_reached', 'budget_reached'].includes(error.reason);
}

/**
 * Returns the error of a refused hold with what would be affordable: details.affordable_output_tokens and a sentence. Other errors are
 * returned unchanged.
 */
export function explainRefusal(error: unknown, quote: Quote): unknown {
  if (!isRefusal(error)) return error;
  const available = error.details['available_nano_usd'];
  if (available === undefined || !/^\d+$/.test(available)) return error;
  const tokens = affordableOutputTokens(quote, BigInt(available));
  const sentence =
    tokens > 0
      ? ` The available amount pays for this input and at most ${tokens} output tokens; lower max_tokens to ${tokens} to proceed.`
      : '';
  return new AppError(error.reason, `${error.message}${sentence}`, {
    details: { ...error.details, affordable_output_tokens: String(tokens) },
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
    cause: error,
  });
}
