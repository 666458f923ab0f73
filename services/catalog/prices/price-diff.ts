// Compares a draft with the price that it would replace, and warns about likely mistakes. Pure: the instant is an argument.
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
import { type ListedPrice, priceList } from '#rules/money/pricing.js';
import { priceInForce, scheduledPrices } from './price.js';

/** A change larger than this, up or down, gets a warning: one half, in hundredths of a percent. */
const largeChangeBasisPoints = 5000n;

/**
 * Compares the draft's price with the one that it replaces: the one in force at its start, not necessarily today's. `versions` are all versions
 * of the model, in any order.
 */
export function priceDiff(model: Model, draft: PriceVersion, versions: readonly PriceVersion[], nowMs: number): PriceDiff {
  const startMs = draft.effectiveFromMs === 0n ? nowMs : Number(draft.effectiveFromMs);
  const before = priceInForce(versions, startMs);
  const later = scheduledPrices(versions, startMs);
  const pairs = pairsOf(before, draft);
  const changes = pairs.map(changeOf);
  return PriceDiff.fromPartial({
    before,
    changes,
    later,
    warnings: warningsOf(draft, before, pairs, later.length > 0, startMs < nowMs),
    typicalCalls: typicalCalls(model, pairs),
  });
}

/** A class of tokens or another unit in both versions; undefined where a version does not have it. */
interface Pair {
  readonly unit: string;
  readonly per: number;
  readonly before: ListedPrice | undefined;
  readonly after: ListedPrice | undefined;
  /** The price that is charged, in nano-USD; undefined where the unit cannot be used. */
  readonly chargedBefore: bigint | undefined;
  readonly chargedAfter: bigint | undefined;
}

/** Returns every class of tokens once, then every other unit of either version. */
function pairsOf(before: PriceVersion | undefined, after: PriceVersion): Pair[] {
  const [from, to] = [before, after].map((price) => (price === undefined ? [] : priceList(price)));
  const known = new Map([...to!, ...from!].map((price) => [price.unit, price]));
  return [...known.values()].map(({ unit, per }) => {
    const [one, other] = [from!, to!].map((list) => list.find((price) => price.unit === unit));
    return { unit, per, before: one, after: other, chargedBefore: charged(one, before), chargedAfter: charged(other, after) };
  });
}

function charged(price: ListedPrice | undefined, version: PriceVersion | undefined): bigint | undefined {
  return price === undefined ? undefined : (price.nanoUsd ?? version!.outputNanoUsdPerMtok);
}

function changeOf({ unit, per, before, after, chargedBefore, chargedAfter }: Pair): PriceChange {
  return PriceChange.fromPartial({
    unit,
    per,
    beforeNanoUsd: before?.nanoUsd,
    afterNanoUsd: after?.nanoUsd,
    beforeMaxPerCall: before?.maxPerCall,
    afterMaxPerCall: after?.maxPerCall,
    changeBasisPoints: !chargedBefore || chargedAfter === undefined ? undefined : basisPoints(chargedBefore, chargedAfter),
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
  pairs: readonly Pair[],
  isEnded: boolean,
  isPast: boolean,
): PriceWarning[] {
  const warnings: PriceWarning[] = [];
  const warn = (kind: Kind, unit = ''): void => void warnings.push(PriceWarning.fromPartial({ kind, unit }));
  if (isPast) warn(Kind.KIND_START_PASSED);
  if (before === undefined) warn(Kind.KIND_FIRST_PRICE);
  else if (pairs.every(isSame)) warn(Kind.KIND_NO_CHANGE);
  const kept = pairs.filter(({ after }) => after !== undefined);
  if (kept.every(({ chargedAfter }) => chargedAfter === 0n)) warn(Kind.KIND_FREE);
  else for (const { unit, after } of kept) if (after?.nanoUsd === 0n) warn(Kind.KIND_ZERO, unit);
  if (draft.outputNanoUsdPerMtok < draft.inputNanoUsdPerMtok) warn(Kind.KIND_OUTPUT_BELOW_INPUT);
  if (draft.cacheReadNanoUsdPerMtok > draft.inputNanoUsdPerMtok) warn(Kind.KIND_CACHE_READ_ABOVE_INPUT);
  for (const { unit, before: from, after: to, chargedBefore, chargedAfter } of pairs) {
    // A unit that could not be used before, or cannot be used any more, has no change.
    if (chargedBefore === undefined || chargedAfter === undefined) continue;
    // If reasoning is charged as output before and after, the line for output already covers it.
    if (from?.nanoUsd === undefined && to?.nanoUsd === undefined) continue;
    const isLarge = chargedBefore === 0n ? chargedAfter > 0n : exceeds(chargedBefore, chargedAfter);
    if (isLarge) warn(Kind.KIND_LARGE_CHANGE, unit);
  }
  if (isEnded) warn(Kind.KIND_ENDED_BY_LATER);
  return warnings;
}

function isSame({ before, after, chargedBefore, chargedAfter }: Pair): boolean {
  return chargedBefore === chargedAfter && before?.maxPerCall === after?.maxPerCall;
}

/** Reports whether a change is large. Compares without rounding, so that a change of exactly half is not. */
function exceeds(before: bigint, after: bigint): boolean {
  const change = after > before ? after - before : before - after;
  return change * 10_000n > before * largeChangeBasisPoints;
}

/** Returns example calls that the model can serve, to illustrate what its price means. */
function typicalCalls(model: Model, pairs: readonly Pair[]): TypicalCall[] {
  const has = (capability: Capability): boolean => model.capabilities.includes(capability);
  const output = (tokens: number): number => Math.min(tokens, model.outputLimitTokens);
  // Each call also uses every other unit that either version has a price for, once.
  const counts = pairs.filter(({ per }) => per === 1).map(({ unit }) => ({ unit, count: 1 }));
  const units = counts.length === 0 ? {} : { units: { counts } };
  const call = (name: string, tokens: Partial<TokenCounts>): TypicalCall =>
    TypicalCall.fromPartial({ name, tokens: { ...tokens, ...units } });
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
  // None of them fits a tiny context, and the diff should still show a cost.
  const half = Math.max(1, Math.floor(model.contextLimitTokens / 2));
  return fits.length > 0 ? fits : [call('chat', { inputTokens: half, outputTokens: output(half) })];
}
