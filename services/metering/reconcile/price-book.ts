// The catalog's price versions by id. They never change, so each is asked for once.
import { hasReason } from '#kit/errors/app-error.js';
import { callContext } from '#kit/rpc/call-context.js';
import type { CatalogService, PriceVersion } from '#proto/catalog/v1/catalog.js';

const versionsMax = 10_000;
const timeoutMs = 10_000;

/** Price versions that were asked for so far. */
export class PriceBook {
  private readonly versions = new Map<string, PriceVersion>();

  constructor(private readonly catalog: Pick<CatalogService, 'listPriceVersions'>) {}

  /** Of each of these, what the catalog has under its id; those that it does not know are left out. Raises what the catalog raises. */
  async find(wanted: readonly PriceVersion[]): Promise<ReadonlyMap<string, PriceVersion>> {
    const missing = wanted.filter(({ id }) => !this.versions.has(id));
    if (this.versions.size > versionsMax) this.versions.clear();
    for (const modelId of new Set(missing.map((price) => price.modelId))) {
      for (const version of await this.ofModel(modelId)) this.versions.set(version.id, version);
    }
    return this.versions;
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
