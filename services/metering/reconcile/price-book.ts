// The catalog's price versions by id, each with the instant until which it was in force.
import type { Clock } from '#kit/clock.js';
import { hasReason } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import type { CatalogService, PriceVersion } from '#proto/catalog/v1/catalog.js';

const modelsMax = 1000;
const timeoutMs = 10_000;

/** How long after the start of a call a model's prices must have been read, because the gateway's clock may be ahead of ours. */
export const finalAfterMs = 10_000;

/** Holds a price version and the start of the version that replaced it; undefined if none is known. */
export interface DatedPrice {
  readonly price: PriceVersion;
  readonly untilMs: bigint | undefined;
}

/** Names a version that a record uses, and when its call began. */
export interface UsedPrice {
  readonly price: Pick<PriceVersion, 'id' | 'modelId'>;
  readonly startedAtMs: bigint;
}

/** Holds the price versions of models that were queried so far. */
export class PriceBook {
  private readonly models = new Map<string, { readonly readAtMs: number; readonly prices: ReadonlyMap<string, DatedPrice> }>();

  constructor(
    private readonly catalog: Pick<CatalogService, 'listPriceVersions'>,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns what the catalog has under the id of each of these; unknown versions are left out. No price ever starts in the
   * past, so a model's versions are final for a call once they were read `finalAfterMs` after it began. Raises what the catalog raises.
   */
  async find(used: readonly UsedPrice[]): Promise<ReadonlyMap<string, DatedPrice>> {
    if (this.models.size > modelsMax) this.models.clear();
    const latest = new Map<string, number>();
    for (const { price, startedAtMs } of used)
      latest.set(price.modelId, Math.max(latest.get(price.modelId) ?? 0, Number(startedAtMs) + finalAfterMs));
    const found = new Map<string, DatedPrice>();
    for (const [modelId, neededMs] of latest) {
      let model = this.models.get(modelId);
      if (model === undefined || model.readAtMs < neededMs) {
        const readAtMs = this.clock.nowMs();
        model = { readAtMs, prices: dated(await this.ofModel(modelId)) };
        this.models.set(modelId, model);
      }
      for (const [id, price] of model.prices) found.set(id, price);
    }
    return found;
  }

  private async ofModel(modelId: string): Promise<PriceVersion[]> {
    try {
      return (await this.catalog.listPriceVersions({ modelId }, callContext({ caller: 'metering', timeoutMs }))).prices;
    } catch (error) {
      if (hasReason(error, 'model_unknown')) return [];
      throw error;
    }
  }
}

function dated(versions: readonly PriceVersion[]): Map<string, DatedPrice> {
  const inOrder = versions.toSorted((a, b) => (a.effectiveFromMs < b.effectiveFromMs ? -1 : 1));
  return new Map(inOrder.map((price, index) => [price.id, { price, untilMs: inOrder[index + 1]?.effectiveFromMs }]));
}
