// CatalogService: its RPCs, bound to their dependencies.
import { getHealth } from '#kit/process/get-health.js';
import { bindRpcs } from '#kit/rpc/bind-rpcs.js';
import type { CatalogService } from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from './deps.js';
import { deletePriceDraft } from './rpcs/delete-price-draft.js';
import { getModel } from './rpcs/get-model.js';
import { getPriceDraft } from './rpcs/get-price-draft.js';
import { listModels } from './rpcs/list-models.js';
import { listPriceDrafts } from './rpcs/list-price-drafts.js';
import { listPriceVersions } from './rpcs/list-price-versions.js';
import { pauseModel } from './rpcs/pause-model.js';
import { publishPrice } from './rpcs/publish-price.js';
import { publishPriceDraft } from './rpcs/publish-price-draft.js';
import { putModel } from './rpcs/put-model.js';
import { putPriceDraft } from './rpcs/put-price-draft.js';
import { resumeModel } from './rpcs/resume-model.js';
import { watchCatalog } from './rpcs/watch-catalog.js';

/** Returns the implementation of the contract over these dependencies. */
export function catalogService(deps: RpcDeps): CatalogService {
  return bindRpcs<CatalogService, RpcDeps>(
    {
      listModels,
      getModel,
      putModel,
      pauseModel,
      resumeModel,
      publishPrice,
      listPriceVersions,
      putPriceDraft,
      getPriceDraft,
      listPriceDrafts,
      deletePriceDraft,
      publishPriceDraft,
      watchCatalog,
      getHealth,
    },
    deps,
  );
}
