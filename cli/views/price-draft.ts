// The output of price drafts and of the changes that they would make.
import { formatUsd } from '#rules/money/money.js';
import {
  type PriceChange,
  type PriceDiff,
  type PriceDraft,
  type PriceWarning,
  PriceWarning_Kind as Kind,
  type TypicalCall,
} from '#proto/catalog/v1/catalog.js';
import { instant, instantJson, type Json, type JsonObject, usd, usdJson, type View } from '../output.js';
import { wordsOf } from '../options/parse.js';
import { priceView, unitPriceText } from './model.js';

const warnings = wordsOf<Kind>(Kind, 'KIND_');

/** A draft; every figure is USD per million tokens, those of units for one. */
export const draftView: View<PriceDraft> = {
  json({ price, version, author, updatedAtMs }) {
    const { id: _id, created_at: _createdAt, effective_from, ...figures } = priceView.json(price!);
    const from: Json = price!.effectiveFromMs === 0n ? null : effective_from!;
    return { ...figures, version: Number(version), author, updated_at: instantJson(updatedAtMs), effective_from: from };
  },
  columns: [
    { title: 'model', text: ({ price }) => price!.modelId },
    { title: 'draft', text: ({ version }) => String(version) },
    { title: 'from', text: ({ price }) => (price!.effectiveFromMs === 0n ? 'when published' : instant(price!.effectiveFromMs)) },
    { title: 'input', text: ({ price }) => usd(price!.inputNanoUsdPerMtok), align: 'right' },
    { title: 'output', text: ({ price }) => usd(price!.outputNanoUsdPerMtok), align: 'right' },
    { title: 'units', text: ({ price }) => price!.units.map(unitPriceText).join(', ') },
    { title: 'by', text: ({ author }) => author },
    { title: 'at', text: ({ updatedAtMs }) => instant(updatedAtMs) },
  ],
};

/** One class of tokens or other unit of a difference. */
export function changeView(wasPriced: boolean): View<PriceChange> {
  const shown = (figure: bigint | undefined, { unit, per }: PriceChange, max: number | undefined, isPriced: boolean): string => {
    if (figure === undefined) return isPriced && unit === 'reasoning' ? 'as output' : 'unpriced';
    return per === 1 ? unitPriceText({ unit, nanoUsd: figure, maxPerCall: max ?? 0 }) : usd(figure);
  };
  return {
    json: changeJson,
    columns: [
      { title: 'unit', text: ({ unit }) => unit.replaceAll('_', ' ') },
      { title: 'before', text: (change) => shown(change.beforeNanoUsd, change, change.beforeMaxPerCall, wasPriced), align: 'right' },
      { title: 'after', text: (change) => shown(change.afterNanoUsd, change, change.afterMaxPerCall, true), align: 'right' },
      { title: 'change', text: changeText, align: 'right' },
    ],
  };
}

/** A typical call and its cost. */
export interface Estimated {
  readonly call: TypicalCall;
  /** Undefined: the model had no price before. */
  readonly beforeNanoUsd: bigint | undefined;
  readonly afterNanoUsd: bigint;
}

/** The cost of a typical call before and after. */
export const typicalCallView: View<Estimated> = {
  json: callJson,
  columns: [
    { title: 'a call of', text: ({ call }) => sizeText(call) },
    { title: 'before', text: ({ beforeNanoUsd }) => (beforeNanoUsd === undefined ? 'refused' : usd(beforeNanoUsd)), align: 'right' },
    { title: 'after', text: ({ afterNanoUsd }) => usd(afterNanoUsd), align: 'right' },
  ],
};

/** Returns the difference as JSON. */
export function estimatedJson(diff: PriceDiff, calls: readonly Estimated[]): JsonObject {
  return {
    changes: diff.changes.map(changeJson),
    warnings: diff.warnings.map(({ kind, unit }) => ({ kind: warnings.of(kind), unit: unit || null })),
    later: diff.later.map((price) => priceView.json(price)),
    typical_calls: calls.map(callJson),
  };
}

/** Returns a warning as a sentence. */
export function warningText({ kind, unit }: PriceWarning): string {
  const name = unit.replaceAll('_', ' ');
  switch (kind) {
    case Kind.KIND_FREE:
      return 'every unit costs nothing: calls will be free.';
    case Kind.KIND_ZERO:
      return `${name} costs nothing.`;
    case Kind.KIND_OUTPUT_BELOW_INPUT:
      return 'output is cheaper than input.';
    case Kind.KIND_CACHE_READ_ABOVE_INPUT:
      return 'input that is read from a cache costs more than other input.';
    case Kind.KIND_LARGE_CHANGE:
      return `${name} changes by more than half.`;
    case Kind.KIND_FIRST_PRICE:
      return 'the model has no price, so its calls are rejected; with this price they are served and charged.';
    case Kind.KIND_NO_CHANGE:
      return 'it is the same as the current price.';
    case Kind.KIND_START_PASSED:
      return 'its start is in the past, so it cannot be published; draft it again with a later --from, or --from now.';
    case Kind.KIND_ENDED_BY_LATER:
      return 'a published price that starts later will replace it.';
    default:
      return 'the catalog returned a warning that this version of the CLI does not know.';
  }
}

/** Reasoning that is charged as output before and after has no separate change. */
function changeText({ beforeNanoUsd, afterNanoUsd, changeBasisPoints }: PriceChange): string {
  if (changeBasisPoints === undefined || (beforeNanoUsd === undefined && afterNanoUsd === undefined)) return '';
  return changeBasisPoints === 0n ? 'same' : `${signed(changeBasisPoints)} %`;
}

function changeJson({
  unit,
  per,
  beforeNanoUsd,
  afterNanoUsd,
  changeBasisPoints,
  beforeMaxPerCall,
  afterMaxPerCall,
}: PriceChange): JsonObject {
  return {
    unit,
    per,
    ...usdJson('before', beforeNanoUsd),
    ...usdJson('after', afterNanoUsd),
    change_percent: changeBasisPoints === undefined ? null : percent(changeBasisPoints),
    before_max_per_call: beforeMaxPerCall ?? null,
    after_max_per_call: afterMaxPerCall ?? null,
  };
}

function callJson({ call, beforeNanoUsd, afterNanoUsd }: Estimated): JsonObject {
  const { inputTokens, cacheReadTokens, outputTokens, reasoningTokens } = call.tokens!;
  return {
    name: call.name,
    input_tokens: inputTokens,
    cache_read_tokens: cacheReadTokens,
    output_tokens: outputTokens,
    reasoning_tokens: reasoningTokens,
    units: call.tokens!.units?.counts.map(({ unit, count }) => ({ unit, quantity: count })) ?? [],
    ...usdJson('before', beforeNanoUsd),
    ...usdJson('after', afterNanoUsd),
  };
}

function sizeText({ tokens }: TypicalCall): string {
  const { inputTokens, cacheReadTokens, outputTokens, reasoningTokens } = tokens!;
  const cached = cacheReadTokens === 0 ? '' : `, ${cacheReadTokens} from cache`;
  const reasoning = reasoningTokens === 0 ? '' : ` (${reasoningTokens} reasoning)`;
  const units = tokens!.units?.counts.map(({ unit, count }) => `, ${count} ${unit}`).join('') ?? '';
  return `${inputTokens} in${cached}, ${outputTokens} out${reasoning}${units}`;
}

function percent(basisPoints: bigint): string {
  // A percent is a hundred basis points; formatUsd writes nine decimals exactly.
  return formatUsd(basisPoints * 10_000_000n);
}

function signed(basisPoints: bigint): string {
  return `${basisPoints > 0n ? '+' : ''}${percent(basisPoints)}`;
}
