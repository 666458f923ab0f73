// The routes of models, prices and upstreams on one screen. Ids of models may hold slashes, so nothing comes behind them in a path.
import type Router from '@koa/router';
import type { ConsoleDeps } from '../../deps.js';
import { createModel, exportCatalog, getModel, listModels, updateModel } from './models.js';
import { discardDraft, getDraft, listDrafts, publishDraft, putDraft } from './prices.js';
import { createUpstream, deleteUpstream, listUpstreams, testUpstream, updateUpstream } from './upstreams.js';

/** Adds them below `base`, which lets in operators alone. */
export function catalogRoutes(router: Router, base: string, deps: ConsoleDeps): void {
  router.get(`${base}/models`, listModels(deps));
  router.post(`${base}/models`, createModel(deps));
  router.get(`${base}/models/*id`, getModel(deps));
  router.patch(`${base}/models/*id`, updateModel(deps));
  router.get(`${base}/catalog.json`, exportCatalog(deps));

  router.get(`${base}/price-drafts`, listDrafts(deps));
  router.get(`${base}/price-drafts/*id`, getDraft(deps));
  router.put(`${base}/price-drafts/*id`, putDraft(deps));
  router.delete(`${base}/price-drafts/*id`, discardDraft(deps));
  router.post(`${base}/prices/*id`, publishDraft(deps));

  router.get(`${base}/upstreams`, listUpstreams(deps));
  router.post(`${base}/upstreams`, createUpstream(deps));
  router.patch(`${base}/upstreams/:id`, updateUpstream(deps));
  router.delete(`${base}/upstreams/:id`, deleteUpstream(deps));
  router.post(`${base}/upstreams/:id/test`, testUpstream(deps));
}
