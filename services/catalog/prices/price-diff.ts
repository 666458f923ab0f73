// What publishing a draft would change, and what about it may be a mistake. Pure: the instant is an argument.
import { TokenClass } from '#proto/inference/v1/tokens.js';
import {
  Capability,
  type Model,
  PriceChange,
  PriceDiff,
  type PriceVersion,
  PriceWarning,
  PriceWarning_Kind as Kind,
  TypicalCall,
} from '#proto/catalog/v1/catalog.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { priceInForce, scheduledPrices } from './price.js';

/** A change beyond this, up or down, gets a warning: half, in hundredths of a percent. */
const largeChangeBasisPoints = 5000n;

/**
 * Compares the draft's price with the one that it replaces: the one in force at its start, not necessarily today's. `versions` are all of the
 * model, in any order.
 */
export function priceDiff(model: Model, draft: PriceVersion, versions: readonly PriceVersion[], nowMs: number): PriceDiff {
  const startMs = draft.effectiveFromMs === 0n ? nowMs : Number(draft.effectiveFromMs);
  const before = priceInForce(versions, startMs);
  const later = scheduledPrices(versions, startMs);
  const changes = classes.map((known) => changeOf(known, before, draft));
  return PriceDiff.fromPartial({
    before,
    changes,
    later,
    warnings: warningsOf(draft, before, changes, later.length > 0, startMs < nowMs),
    typicalCalls: typicalCalls(model),
  });
}

interface Class {
  readonly tokenClass: TokenClass;
  /** The version's own value; undefined if it has none. */
  read(price: PriceVersion): bigint | undefined;
  /** The price that is charged. */
  charged(price: PriceVersion): bigint;
}

const priced = (tokenClass: TokenClass, charged: (price: PriceVersion) => bigint): Class => ({ tokenClass, read: charged, charged });

const classes: readonly Class[] = [
  priced(TokenClass.TOKEN_CLASS_INPUT, (price) => price.inputNanoUsdPerMtok),
  priced(TokenClass.TOKEN_CLASS_CACHE_READ, (price) => price.cacheReadNanoUsdPerMtok),
  priced(TokenClass.TOKEN_CLASS_CACHE_WRITE_5M, (price) => price.cacheWrite5mNanoUsdPerMtok),
  priced(TokenClass.TOKEN_CLASS_CACHE_WRITE_1H, (price) => price.cacheWrite1hNanoUsdPerMtok),
  priced(TokenClass.TOKEN_CLASS_OUTPUT, (price) => price.outputNanoUsdPerMtok),
  {
    tokenClass: TokenClass.TOKEN_CLASS_REASONING,
    read: (price) => price.reasoningNanoUsdPerMtok,
    charged: (price) => price.reasoningNanoUsdPerMtok ?? price.outputNanoUsdPerMtok,
  },
];

function changeOf({ tokenClass, read, charged }: Class, before: PriceVersion | undefined, after: PriceVersion): PriceChange {
  const from = before === undefined ? undefined : charged(before);
  return PriceChange.fromPartial({
    tokenClass,
    beforeNanoUsdPerMtok: before === undefined ? undefined : read(before),
    afterNanoUsdPerMtok: read(after),
    changeBasisPoints: from === undefined || from === 0n ? undefined : basisPoints(from, charged(after)),
  });
}

/** Returns the increase in hundredths of a percent, rounded to the nearest, halves away from zero. */
function basisPoints(before: bigint, after: bigint): bigint {
  const rise = (after - before) * 10_000n;
  const half = before / 2n;
  return (rise < 0n ? rise - half : rise + half) / before;
}

function warningsOf(
  draft: PriceVersion,
  before: PriceVersion | undefined,
  changes: readonly PriceChange[],
  isEnded: boolean,
  isPast: boolean,
): PriceWarning[] {
  const warnings: PriceWarning[] = [];
  const warn = (kind: Kind, tokenClass?: TokenClass): void =>
    void warnings.push(PriceWarning.fromPartial({ kind, ...(tokenClass === undefined ? {} : { tokenClass }) }));
  if (isPast) warn(Kind.KIND_START_PASSED);
  if (before === undefined) warn(Kind.KIND_FIRST_PRICE);
  else if (classes.every(({ charged }) => charged(before) === charged(draft))) warn(Kind.KIND_NO_CHANGE);
  if (classes.every(({ charged }) => charged(draft) === 0n)) warn(Kind.KIND_FREE);
  else for (const { tokenClass, read } of classes) if (read(draft) === 0n) warn(Kind.KIND_ZERO, tokenClass);
  if (draft.outputNanoUsdPerMtok < draft.inputNanoUsdPerMtok) warn(Kind.KIND_OUTPUT_BELOW_INPUT);
  for (const [index, { tokenClass, charged }] of classes.entries()) {
    if (before === undefined) break;
    // If reasoning is charged as output before and after, the line for output already covers it.
    if (
      tokenClass === TokenClass.TOKEN_CLASS_REASONING &&
      before.reasoningNanoUsdPerMtok === undefined &&
      draft.reasoningNanoUsdPerMtok === undefined
    )
      continue;
    const change = changes[index]!.changeBasisPoints;
    const isLarge = change === undefined ? charged(draft) > 0n : exceeds(charged(before), charged(draft));
    if (isLarge) warn(Kind.KIND_LARGE_CHANGE, tokenClass);
  }
  if (isEnded) warn(Kind.KIND_ENDED_BY_LATER);
  return warnings;
}

/** Compares without rounding: half is not a large change, and anything beyond it is. */
function exceeds(before: bigint, after: bigint): boolean {
  const change = after > before ? after - before : before - after;
  return change * 10_000n > before * largeChangeBasisPoints;
}

/** Returns sizes that illustrate what a price means for the model: only calls that it can serve. */
function typicalCalls(model: Model): TypicalCall[] {
  const has = (capability: Capability): boolean => model.capabilities.includes(capability);
  const output = (tokens: number): number => Math.min(tokens, model.outputLimitTokens);
  const call = (name: string, tokens: Partial<TokenCounts>): TypicalCall => TypicalCall.fromPartial({ name, tokens });
  const calls = [
    call('chat', { inputTokens: 1000, outputTokens: output(300) }),
    call('long_input', { inputTokens: 50_000, outputTokens: output(1000) }),
    ...(has(Capability.CAPABILITY_PROMPT_CACHE)
      ? [call('cached_input', { inputTokens: 500, cacheReadTokens: 20_000, outputTokens: output(500) })]
      : []),
    ...(has(Capability.CAPABILITY_REASONING)
      ? [call('reasoning', { inputTokens: 1000, outputTokens: output(2000), reasoningTokens: Math.min(1500, output(2000)) })]
      : []),
  ];
  const fits = calls.filter(
    ({ tokens }) => tokens!.inputTokens + tokens!.cacheReadTokens + tokens!.outputTokens <= model.contextLimitTokens,
  );
  // A tiny context fits none of them, and a diff should still show a cost.
  const half = Math.max(1, Math.floor(model.contextLimitTokens / 2));
  return fits.length > 0 ? fits : [call('chat', { inputTokens: half, outputTokens: output(half) })];
}
