// Conversion between rows of the catalog's tables and messages. Pure.
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import {
  type Capability,
  type Modality,
  Model,
  type ModelState,
  PriceDraft,
  PriceVersion,
  type Target,
  type Tokenizer,
  type UnitPrice,
} from '#proto/catalog/v1/catalog.js';

/** Prefix of a price version's id. */
export const priceIdPrefix = 'price';

/** Who wrote a model last: a seed model that an operator has put belongs to the operator from then on. */
type Origin = 'seed' | 'operator';

/** Holds a model as stored: without a price, which depends on the instant. */
export interface StoredModel {
  readonly model: Model;
  readonly origin: Origin;
}

/** A row of any of the tables, as the driver returns it. */
export type Row = Readonly<Record<string, unknown>>;

/** The columns of `model` that are read. */
export const modelColumns = [
  'id',
  'display_name',
  'description',
  'provider',
  'context_limit_tokens',
  'output_limit_tokens',
  'input_modalities',
  'output_modalities',
  'capabilities',
  'targets',
  'aliases',
  'tokenizer',
  'state',
  'origin',
  'created_at_ms',
  'image_tokens_max',
  'prefix_affinity',
  'hedge_after_ms',
  'paused_since_ms',
  'paused_until_ms',
  'pause_reason',
] as const;

/** The columns that versions and drafts of prices have in common. */
const figureColumns = [
  'model_id',
  'effective_from_ms',
  'input_nano_usd_per_mtok',
  'cache_read_nano_usd_per_mtok',
  'cache_write_5m_nano_usd_per_mtok',
  'cache_write_1h_nano_usd_per_mtok',
  'output_nano_usd_per_mtok',
  'reasoning_nano_usd_per_mtok',
  'units',
] as const;

/** The columns of `price_version` that are read. */
export const priceColumns = ['id', ...figureColumns, 'created_at_ms'] as const;

/** The columns of `price_draft`. */
export const draftColumns = [...figureColumns, 'version', 'author', 'updated_at_ms'] as const;

/** Converts a row of `model`. */
export function modelFromRow(row: Row): StoredModel {
  return {
    origin: asText(row['origin']) as Origin,
    model: Model.fromPartial({
      id: asText(row['id']),
      displayName: asText(row['display_name']),
      description: asText(row['description']),
      provider: asText(row['provider']),
      contextLimitTokens: asNumber(row['context_limit_tokens']),
      outputLimitTokens: asNumber(row['output_limit_tokens']),
      inputModalities: asList<Modality>(row['input_modalities']),
      outputModalities: asList<Modality>(row['output_modalities']),
      capabilities: asList<Capability>(row['capabilities']),
      targets: asList<Target>(row['targets']),
      aliases: asList<string>(row['aliases']),
      tokenizer: asNumber(row['tokenizer']) as Tokenizer,
      state: asNumber(row['state']) as ModelState,
      createdAtMs: asBigInt(row['created_at_ms']),
      imageTokensMax: asNumber(row['image_tokens_max']),
      prefixAffinity: asNumber(row['prefix_affinity']) === 1,
      hedgeAfterMs: optional(row['hedge_after_ms'], asNumber),
      ...(row['paused_since_ms'] === null
        ? {}
        : {
            pause: {
              sinceMs: asBigInt(row['paused_since_ms']),
              untilMs: asBigInt(row['paused_until_ms']),
              reason: asText(row['pause_reason']),
            },
          }),
    }),
  };
}

/** Returns the row of a model, without its revision. */
export function modelToRow({ model, origin }: StoredModel): Row {
  return {
    id: model.id,
    display_name: model.displayName,
    description: model.description,
    provider: model.provider,
    context_limit_tokens: model.contextLimitTokens,
    output_limit_tokens: model.outputLimitTokens,
    input_modalities: JSON.stringify(model.inputModalities),
    output_modalities: JSON.stringify(model.outputModalities),
    capabilities: JSON.stringify(model.capabilities),
    targets: JSON.stringify(model.targets),
    aliases: JSON.stringify(model.aliases),
    tokenizer: model.tokenizer,
    state: model.state,
    origin,
    created_at_ms: model.createdAtMs,
    image_tokens_max: model.imageTokensMax,
    prefix_affinity: model.prefixAffinity === false ? 0 : 1,
    hedge_after_ms: model.hedgeAfterMs ?? null,
    paused_since_ms: model.pause?.sinceMs ?? null,
    paused_until_ms: model.pause?.untilMs ?? null,
    pause_reason: model.pause?.reason ?? null,
  };
}

/** Converts a row of `price_version`. */
export function priceFromRow(row: Row): PriceVersion {
  return PriceVersion.fromPartial({
    id: idFromBytes(priceIdPrefix, asBytes(row['id'])),
    ...figuresFromRow(row),
    createdAtMs: asBigInt(row['created_at_ms']),
  });
}

/** Returns the row of a price version. */
export function priceToRow(price: PriceVersion): Row {
  return {
    id: idToBytes(priceIdPrefix, price.id),
    ...figuresToRow(price),
    created_at_ms: price.createdAtMs,
  };
}

/** Converts a row of `price_draft`. */
export function draftFromRow(row: Row): PriceDraft {
  return PriceDraft.fromPartial({
    price: figuresFromRow(row),
    version: asBigInt(row['version']),
    author: asText(row['author']),
    updatedAtMs: asBigInt(row['updated_at_ms']),
  });
}

/** Returns the row of a draft. */
export function draftToRow({ price, version, author, updatedAtMs }: PriceDraft): Row {
  return { ...figuresToRow(price!), version, author, updated_at_ms: updatedAtMs };
}

/** Returns the fields that versions and drafts have in common. */
function figuresFromRow(row: Row) {
  return {
    modelId: asText(row['model_id']),
    effectiveFromMs: asBigInt(row['effective_from_ms']),
    inputNanoUsdPerMtok: asBigInt(row['input_nano_usd_per_mtok']),
    cacheReadNanoUsdPerMtok: asBigInt(row['cache_read_nano_usd_per_mtok']),
    cacheWrite5mNanoUsdPerMtok: asBigInt(row['cache_write_5m_nano_usd_per_mtok']),
    cacheWrite1hNanoUsdPerMtok: asBigInt(row['cache_write_1h_nano_usd_per_mtok']),
    outputNanoUsdPerMtok: asBigInt(row['output_nano_usd_per_mtok']),
    reasoningNanoUsdPerMtok: optional(row['reasoning_nano_usd_per_mtok'], asBigInt),
    units: optional(row['units'], unitsOfText) ?? [],
  };
}

function figuresToRow(price: PriceVersion): Row {
  return {
    model_id: price.modelId,
    effective_from_ms: price.effectiveFromMs,
    input_nano_usd_per_mtok: price.inputNanoUsdPerMtok,
    cache_read_nano_usd_per_mtok: price.cacheReadNanoUsdPerMtok,
    cache_write_5m_nano_usd_per_mtok: price.cacheWrite5mNanoUsdPerMtok,
    cache_write_1h_nano_usd_per_mtok: price.cacheWrite1hNanoUsdPerMtok,
    output_nano_usd_per_mtok: price.outputNanoUsdPerMtok,
    reasoning_nano_usd_per_mtok: price.reasoningNanoUsdPerMtok ?? null,
    units: price.units.length === 0 ? null : unitsText(price.units),
  };
}

/** The price of a unit as JSON. Its amount is text, because a JSON number may not hold it exactly. */
type StoredUnit = [unit: string, nanoUsd: string, maxPerCall: number];

function unitsText(units: readonly UnitPrice[]): string {
  return JSON.stringify(units.map(({ unit, nanoUsd, maxPerCall }): StoredUnit => [unit, String(nanoUsd), maxPerCall]));
}

function unitsOfText(text: unknown): UnitPrice[] {
  return asList<StoredUnit>(text).map(([unit, nanoUsd, maxPerCall]) => ({ unit, nanoUsd: BigInt(nanoUsd), maxPerCall }));
}

/** Returns a JSON array that this service itself wrote. */
function asList<T>(value: unknown): T[] {
  return JSON.parse(asText(value)) as T[];
}
