// Adds the seed's models to the catalog at a start, without changing what an operator decided.
import type { Clock } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import type { Logger } from '#kit/log.js';
import { Model, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { findByName } from '../models/model.js';
import { priceIdPrefix, type StoredModel } from '../store/rows.js';
import type { SeedModel } from './seed.js';
import type { CatalogStore } from '../store/store.js';

/** The dependencies of `applySeed`. */
export interface ApplySeedDeps {
  readonly store: CatalogStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Adds the missing models, each with its price from now on, and updates the fields of those that no operator has put.
 * Prices of existing models are not changed: only an operator changes what callers pay. Everything happens in one change, so an
 * interrupted start leaves nothing half-done, and replicas that start together apply the seed once.
 */
export async function applySeed(seed: readonly SeedModel[], { store, clock, log }: ApplySeedDeps): Promise<void> {
  const nowMs = BigInt(clock.nowMs());
  const outcome = await store.change(async (change) => {
    const plan = planSeed(seed, await change.models());
    for (const { model, price } of plan.added) {
      await change.insertModel({ origin: 'seed', model: { ...model, createdAtMs: nowMs } });
      await change.insertPrice(
        PriceVersion.fromPartial({ ...price, id: newId(priceIdPrefix, Number(nowMs)), effectiveFromMs: nowMs, createdAtMs: nowMs }),
      );
    }
    for (const model of plan.renewed) await change.updateModel({ origin: 'seed', model });
    return plan;
  });
  const { added, renewed, skipped } = outcome;
  if (added.length > 0 || renewed.length > 0)
    log.info({ added: added.length, renewed: renewed.length }, 'models of the seed file added or updated');
  if (skipped.length > 0) log.warn({ models: skipped }, 'models of the seed file skipped: another model already has their name');
}

/** The changes that applying a seed would make. */
interface SeedPlan {
  readonly added: readonly SeedModel[];
  readonly renewed: readonly Model[];
  /** Ids of models whose own id is an alias of another one. */
  readonly skipped: readonly string[];
}

/** Compares the seed with the catalog. Pure. An alias that now names a model outside the seed is left to that model. */
function planSeed(seed: readonly SeedModel[], stored: readonly StoredModel[]): SeedPlan {
  const seedIds = new Set(seed.map(({ model }) => model.id));
  const others = stored.filter(({ model, origin }) => origin === 'operator' || !seedIds.has(model.id)).map(({ model }) => model);
  const added: SeedModel[] = [];
  const renewed: Model[] = [];
  const skipped: string[] = [];
  for (const { model: seedModel, price } of seed) {
    const existing = stored.find(({ model }) => model.id === seedModel.id);
    if (existing?.origin === 'operator') continue;
    if (findByName(others, seedModel.id) !== undefined) {
      skipped.push(seedModel.id);
      continue;
    }
    const model = { ...seedModel, aliases: seedModel.aliases.filter((alias) => findByName(others, alias) === undefined) };
    if (existing === undefined) added.push({ model, price });
    else {
      const renewal = { ...model, createdAtMs: existing.model.createdAtMs, pause: existing.model.pause };
      if (!isSameModel(renewal, existing.model)) renewed.push(renewal);
    }
  }
  return { added, renewed, skipped };
}

function isSameModel(a: Model, b: Model): boolean {
  return Buffer.from(Model.encode(a).finish()).equals(Model.encode(b).finish());
}
