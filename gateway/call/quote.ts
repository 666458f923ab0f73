// What a call can cost at most: pure arithmetic on the price and the caps. A call is let in only if this much can be held.
import type { Model, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { AppError } from '#kit/errors/app-error.js';

const mtok = 1_000_000n;
/** Each line item of a charge is rounded up by itself, and there are at most six. */
const roundingNanoUsd = 5n;
/** The least output worth generating when the caller gave no cap and the balance is nearly empty. */
const outputTokensUseful = 256;

/** How much a call may take, as far as its body says. */
export interface Demand {
  /** The most input tokens of all that is text. */
  readonly inputTokensMax: number;
  readonly images: number;
  /** Documents whose bytes say nothing about their tokens: with one, the input may fill the context. */
  readonly documents: number;
  /** The caller's own cap on each answer; undefined: none given. */
  readonly maxOutputTokens?: number;
  /** Answers wanted side by side, each with the whole cap. */
  readonly choices: number;
}

/** The bounds of a call's cost. */
export interface Quote {
  /** The most input tokens that the hold pays for. */
  readonly inputTokensMax: number;
  /** The most that the input can cost, with the rounding of all line items. */
  readonly inputNanoUsd: bigint;
  /** The dearest price of an output token, times the answers wanted. */
  readonly outputNanoUsdPerMtok: bigint;
  /** The most output tokens of each answer that the caller and the model allow. */
  readonly outputCapTokens: number;
  /** To hold if it is available. */
  readonly amountNanoUsd: bigint;
  /** The least that makes the call worth while; equal to the amount when the caller gave a cap. */
  readonly minAmountNanoUsd: bigint;
}

/**
 * The worst case of a call: all input at the dearest input price (nobody knows before what the vendor's cache will do) and all
 * of the output cap at the dearest output price. A cap above the model's limit is lowered to it.
 */
export function quoteCall(model: Model, price: PriceVersion, demand: Demand): Quote {
  const { maxOutputTokens } = demand;
  const inputTokensMax = inputBound(model, demand);
  const inputTokens = BigInt(inputTokensMax);
  const inputPrice = largest(
    price.inputNanoUsdPerMtok,
    price.cacheReadNanoUsdPerMtok,
    price.cacheWrite5mNanoUsdPerMtok,
    price.cacheWrite1hNanoUsdPerMtok,
  );
  const outputNanoUsdPerMtok = largest(price.outputNanoUsdPerMtok, price.reasoningNanoUsdPerMtok ?? 0n) * BigInt(demand.choices);
  const inputNanoUsd = ceilDivide(inputTokens * inputPrice, mtok) + roundingNanoUsd;
  const outputCapTokens = Math.min(maxOutputTokens ?? model.outputLimitTokens, model.outputLimitTokens);
  const costOf = (outputTokens: number): bigint => inputNanoUsd + ceilDivide(BigInt(outputTokens) * outputNanoUsdPerMtok, mtok);
  const amountNanoUsd = costOf(outputCapTokens);
  return {
    inputTokensMax,
    inputNanoUsd,
    outputNanoUsdPerMtok,
    outputCapTokens,
    amountNanoUsd,
    minAmountNanoUsd: maxOutputTokens === undefined ? costOf(Math.min(outputCapTokens, outputTokensUseful)) : amountNanoUsd,
  };
}

/** What one image may have where the catalog does not say, in tokens: more than vendors make of the largest. */
export const imageTokensMaxDefault = 16_384;

function inputBound({ contextLimitTokens, imageTokensMax }: Model, { inputTokensMax, images, documents }: Demand): number {
  if (documents > 0) return contextLimitTokens;
  return Math.min(contextLimitTokens, inputTokensMax + images * (imageTokensMax || imageTokensMaxDefault));
}

/** The cap on the output of each answer that a held amount pays for. */
export function affordableOutputTokens(quote: Quote, heldNanoUsd: bigint): number {
  if (quote.outputNanoUsdPerMtok === 0n) return quote.outputCapTokens;
  const tokens = ((heldNanoUsd - quote.inputNanoUsd) * mtok) / quote.outputNanoUsdPerMtok;
  return tokens >= BigInt(quote.outputCapTokens) ? quote.outputCapTokens : Number(tokens < 0n ? 0n : tokens);
}

/**
 * A refused hold with what would be affordable added to it: details.affordable_output_tokens and a sentence. Other errors are
 * returned as they are.
 */
export function explainRefusal(error: unknown, quote: Quote): unknown {
  if (!(error instanceof AppError) || !['balance_empty', 'balance_held', 'key_limit_reached'].includes(error.reason)) return error;
  const available = error.details['available_nano_usd'];
  if (available === undefined || !/^\d+$/.test(available)) return error;
  const tokens = affordableOutputTokens(quote, BigInt(available));
  const sentence =
    tokens > 0 ? ` What is available pays for this input and at most ${tokens} output tokens; lower max_tokens to that to proceed.` : '';
  return new AppError(error.reason, `${error.message}${sentence}`, {
    details: { ...error.details, affordable_output_tokens: String(tokens) },
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
    cause: error,
  });
}

function largest(first: bigint, ...rest: bigint[]): bigint {
  return rest.reduce((most, value) => (value > most ? value : most), first);
}

function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
