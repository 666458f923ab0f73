// The generated interface, one line per RPC.
import type { CallContext } from '#kit/rpc/call-context.js';
import type * as messages from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from './deps.js';
import { getModel } from './rpcs/get-model.js';
import { listModels } from './rpcs/list-models.js';
import { listPriceVersions } from './rpcs/list-price-versions.js';
import { publishPrice } from './rpcs/publish-price.js';
import { putModel } from './rpcs/put-model.js';
import { watchCatalog } from './rpcs/watch-catalog.js';

/** The RPCs of the catalog. */
export class CatalogRpcs implements messages.CatalogService {
  constructor(private readonly deps: RpcDeps) {}

  listModels = (request: messages.ListModelsRequest, context: CallContext) => listModels(request, context, this.deps);
  getModel = (request: messages.GetModelRequest, context: CallContext) => getModel(request, context, this.deps);
  putModel = (request: messages.PutModelRequest, context: CallContext) => putModel(request, context, this.deps);
  publishPrice = (request: messages.PublishPriceRequest, context: CallContext) => publishPrice(request, context, this.deps);
  listPriceVersions = (request: messages.ListPriceVersionsRequest, context: CallContext) => listPriceVersions(request, context, this.deps);
  watchCatalog = (request: messages.WatchCatalogRequest, context: CallContext) => watchCatalog(request, context, this.deps);
}
