// The generated interface, one line per RPC.
import type { CallContext } from '#kit/rpc/call-context.js';
import type * as messages from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from './deps.js';
import { getHealth } from './rpcs/get-health.js';
import { discardPriceDraft } from './rpcs/discard-price-draft.js';
import { getModel } from './rpcs/get-model.js';
import { getPriceDraft } from './rpcs/get-price-draft.js';
import { listModels } from './rpcs/list-models.js';
import { listPriceDrafts } from './rpcs/list-price-drafts.js';
import { listPriceVersions } from './rpcs/list-price-versions.js';
import { publishPrice } from './rpcs/publish-price.js';
import { publishPriceDraft } from './rpcs/publish-price-draft.js';
import { putModel } from './rpcs/put-model.js';
import { putPriceDraft } from './rpcs/put-price-draft.js';
import { watchCatalog } from './rpcs/watch-catalog.js';

/** The RPCs of the catalog. */
export class CatalogRpcs implements messages.CatalogService {
  constructor(private readonly deps: RpcDeps) {}

  listModels = (request: messages.ListModelsRequest, context: CallContext) => listModels(request, context, this.deps);
  getModel = (request: messages.GetModelRequest, context: CallContext) => getModel(request, context, this.deps);
  putModel = (request: messages.PutModelRequest, context: CallContext) => putModel(request, context, this.deps);
  publishPrice = (request: messages.PublishPriceRequest, context: CallContext) => publishPrice(request, context, this.deps);
  listPriceVersions = (request: messages.ListPriceVersionsRequest, context: CallContext) => listPriceVersions(request, context, this.deps);
  putPriceDraft = (request: messages.PutPriceDraftRequest, context: CallContext) => putPriceDraft(request, context, this.deps);
  getPriceDraft = (request: messages.GetPriceDraftRequest, context: CallContext) => getPriceDraft(request, context, this.deps);
  listPriceDrafts = (request: messages.ListPriceDraftsRequest, context: CallContext) => listPriceDrafts(request, context, this.deps);
  discardPriceDraft = (request: messages.DiscardPriceDraftRequest, context: CallContext) => discardPriceDraft(request, context, this.deps);
  publishPriceDraft = (request: messages.PublishPriceDraftRequest, context: CallContext) => publishPriceDraft(request, context, this.deps);
  watchCatalog = (request: messages.WatchCatalogRequest, context: CallContext) => watchCatalog(request, context, this.deps);
  getHealth = () => getHealth(this.deps.db);
}
