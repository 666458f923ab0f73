// The catalog as one JSON document: models with their current prices, written by `tollgate model export` and by the console.
import { formatUsd, parseUsd } from '#rules/money/money.js';
import { chargesTheSame, unitCostNanoUsdMax, unitPriceNanoUsdMax } from '#rules/money/pricing.js';
import { Model, PriceVersion, type Target, type UnitPrice } from '#proto/catalog/v1/catalog.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { parseJson, readModel } from './model-file.js';
import type { JsonObject, View } from '../output.js';
import { modelView } from '../views/model.js';

/** One model of the document; `price` is undefined when it has none. */
export interface CatalogEntry {
  readonly model: Model;
  readonly price: PriceVersion | undefined;
}

/** The outcome for one model. */
export interface ImportOutcome {
  readonly id: string;
  readonly fields: 'new' | 'changed' | 'same' | 'kept';
  readonly price: 'drafted' | 'published' | 'same' | 'none';
}

/** The output of an import. */
export const importView: View<ImportOutcome> = {
  json: ({ id, fields, price }) => ({ id, fields, price }),
  columns: [
    { title: 'model', text: ({ id }) => id },
    { title: 'fields', text: ({ fields }) => fields },
    { title: 'price', text: ({ price }) => price },
  ],
};

type FigureName =
  | 'inputNanoUsdPerMtok'
  | 'cacheReadNanoUsdPerMtok'
  | 'cacheWrite5mNanoUsdPerMtok'
  | 'cacheWrite1hNanoUsdPerMtok'
  | 'outputNanoUsdPerMtok'
  | 'reasoningNanoUsdPerMtok';

const figures: readonly [json: string, name: FigureName][] = [
  ['input', 'inputNanoUsdPerMtok'],
  ['cache_read', 'cacheReadNanoUsdPerMtok'],
  ['cache_write_5m', 'cacheWrite5mNanoUsdPerMtok'],
  ['cache_write_1h', 'cacheWrite1hNanoUsdPerMtok'],
  ['output', 'outputNanoUsdPerMtok'],
  ['reasoning', 'reasoningNanoUsdPerMtok'],
];

/** Returns the document. */
export function catalogText(models: readonly Model[]): string {
  const entries = models.map((model) => {
    const { price } = model;
    const shown =
      price === undefined
        ? null
        : Object.fromEntries(figures.map(([json, name]) => [json, price[name] === undefined ? null : formatUsd(price[name])]));
    const units = (price?.units ?? []).map(({ unit, nanoUsd, maxPerCall }) => ({
      unit,
      usd: formatUsd(nanoUsd),
      max_per_call: maxPerCall,
    }));
    return { ...fieldsOf(model), usd_per_million_tokens: shown, unit_prices: units };
  });
  return `${JSON.stringify({ models: entries }, undefined, 2)}\n`;
}

/** Returns the models in the document. Raises a CliError that names the model and the fault. */
export function parseCatalogFile(text: string): CatalogEntry[] {
  const document = parseJson(text) as { models?: unknown } | null;
  const models = typeof document === 'object' && document !== null ? document.models : undefined;
  if (!Array.isArray(models))
    throw new CliError('The document has no list "models".', { fix: '`tollgate model export` writes one.', exitCode: 2 });
  return models.map((entry: unknown, index) => readEntry(entry, `models[${index}]`));
}

/** Writes models that are new or differ, and drafts prices that differ from the current ones. */
export async function importModels(
  catalog: Services['catalog'],
  entries: readonly CatalogEntry[],
  isDryRun: boolean,
): Promise<ImportOutcome[]> {
  const { models } = await catalog.listModels({}, operatorCall());
  const outcomes: ImportOutcome[] = [];
  for (const { model, price } of entries) {
    const present = models.find(({ id }) => id === model.id);
    const fields = present === undefined ? 'new' : isSameModel(present, model) ? 'same' : 'changed';
    const isNewPrice = price !== undefined && !isSameFigures(present?.price, price);
    if (!isDryRun && fields !== 'same') await catalog.putModel({ model }, operatorCall());
    if (!isDryRun && isNewPrice) await catalog.putPriceDraft({ price, author: 'CLI (import)' }, operatorCall());
    outcomes.push({ id: model.id, fields, price: price === undefined ? 'none' : isNewPrice ? 'drafted' : 'same' });
  }
  return outcomes;
}

/**
 * Creates the models that the catalog does not have, each with this price. Models that it has, by their id or as this target, are kept as
 * they are, except that a model of an interrupted import gets its price.
 */
export async function importListed(
  catalog: Services['catalog'],
  listed: readonly Model[],
  priceOf: (modelId: string) => PriceVersion,
  isDryRun: boolean,
): Promise<ImportOutcome[]> {
  const { models } = await catalog.listModels({}, operatorCall());
  const outcomes: ImportOutcome[] = [];
  for (const model of listed) {
    const present = models.find(({ id, aliases, targets }) => id === model.id || aliases.includes(model.id) || hasTarget(targets, model));
    const needsPrice = present === undefined || (await isUnfinished(catalog, present, model));
    if (present === undefined && !isDryRun) await catalog.putModel({ model, createOnly: true }, operatorCall());
    if (needsPrice && !isDryRun) await catalog.publishPrice({ price: priceOf(model.id) }, operatorCall());
    outcomes.push({
      id: present?.id ?? model.id,
      fields: present === undefined ? 'new' : 'kept',
      price: needsPrice ? 'published' : 'none',
    });
  }
  return outcomes;
}

/** Reports whether an earlier import created a model, but ended before it published the price. */
async function isUnfinished(catalog: Services['catalog'], present: Model, model: Model): Promise<boolean> {
  if (present.id !== model.id || present.price !== undefined || present.state !== model.state || !hasTarget(present.targets, model))
    return false;
  // A price may start later.
  return (await catalog.listPriceVersions({ modelId: present.id }, operatorCall())).prices.length === 0;
}

function hasTarget(targets: readonly Target[], { targets: [wanted] }: Model): boolean {
  return targets.some((each) => each.upstreamId === wanted!.upstreamId && each.upstreamModel === wanted!.upstreamModel);
}

function readEntry(entry: unknown, where: string): CatalogEntry {
  if (typeof entry !== 'object' || entry === null) throw new CliError(`${where} is not an object.`, { exitCode: 2 });
  const { usd_per_million_tokens: usd, unit_prices: units, ...fields } = entry as Record<string, unknown>;
  try {
    const model = readModel(fields);
    return { model, price: usd === null || usd === undefined ? undefined : { ...readFigures(model.id, usd), units: readUnits(units) } };
  } catch (error) {
    throw error instanceof CliError ? new CliError(`${where}: ${error.message}`, { exitCode: 2 }) : error;
  }
}

function readFigures(modelId: string, usd: unknown): PriceVersion {
  if (typeof usd !== 'object' || usd === null) throw new CliError('usd_per_million_tokens must be an object or null.', { exitCode: 2 });
  const price = PriceVersion.fromPartial({ modelId });
  for (const [json, name] of figures) {
    const value = (usd as Record<string, unknown>)[json];
    if (name === 'reasoningNanoUsdPerMtok' && (value === null || value === undefined)) continue;
    const nanoUsd = typeof value === 'string' ? parseUsd(value) : undefined;
    if (nanoUsd === undefined || nanoUsd < 0n || nanoUsd > unitPriceNanoUsdMax)
      throw new CliError(`usd_per_million_tokens.${json} must be an amount in USD as text, such as "2.5", and at most 100000.`, {
        exitCode: 2,
      });
    price[name] = nanoUsd;
  }
  return price;
}

function readUnits(units: unknown = []): UnitPrice[] {
  if (!Array.isArray(units)) throw new CliError('unit_prices must be a list.', { exitCode: 2 });
  return units.map((entry: unknown, index) => {
    const { unit, usd, max_per_call: maxPerCall } = (entry ?? {}) as Record<string, unknown>;
    const nanoUsd = typeof usd === 'string' ? parseUsd(usd) : undefined;
    if (typeof unit !== 'string' || nanoUsd === undefined || nanoUsd > unitCostNanoUsdMax || typeof maxPerCall !== 'number')
      throw new CliError(
        `unit_prices[${index}] must have a unit, its price in USD as text and max_per_call, such as {"unit":"web_search","usd":"0.01","max_per_call":5}.`,
        { exitCode: 2 },
      );
    return { unit, nanoUsd, maxPerCall };
  });
}

/** Returns what an operator sets for a model except its prices, as in the document. */
function fieldsOf(model: Model): JsonObject {
  const { price: _price, paused: _paused, created_at: _createdAt, ...fields } = modelView.json(model);
  return fields;
}

function isSameModel(one: Model, other: Model): boolean {
  return JSON.stringify(fieldsOf(one)) === JSON.stringify(fieldsOf(other));
}

function isSameFigures(one: PriceVersion | undefined, other: PriceVersion): boolean {
  return one !== undefined && chargesTheSame(one, other);
}
