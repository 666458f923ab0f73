// Models, dated prices and upstreams, for operators.
import type {
  Change,
  ComparedDraft,
  DatedPrice,
  Figures,
  ModelFields,
  ModelState,
  OperatorModel,
  Price,
  TokenClass,
  PutDraft,
  TypicalCall,
  UnitPrices,
  UpdateModel,
  WholeModel,
} from '../../../gateway/console/schemas/operator/catalog.js';
import type { OverrideMode, RoutedTarget } from '../../../gateway/console/schemas/operator/targets.js';
import type { Upstream, UpstreamFields, UpstreamTest } from '../../../gateway/console/schemas/operator/upstreams.js';
import { api, apiUrl, type Page } from './client.js';

export type {
  Change,
  ComparedDraft,
  DatedPrice,
  Figures,
  ModelFields,
  ModelState,
  OperatorModel,
  OverrideMode,
  Price,
  RoutedTarget,
  TokenClass,
  TypicalCall,
  UnitPrices,
  Upstream,
  UpstreamFields,
  UpstreamTest,
  WholeModel,
};
/** One step of a test. */
export type TestStep = UpstreamTest['steps'][number];

/** Model ids contain slashes, which are kept. */
const idPath = (id: string): string => id.split('/').map(encodeURIComponent).join('/');

/** Keys of the query cache. */
export const catalogKeys = {
  all: ['operator-catalog'] as const,
  models: ['operator-catalog', 'models'] as const,
  model: (id: string) => ['operator-catalog', 'model', id] as const,
  upstreams: ['operator-catalog', 'upstreams'] as const,
  targets: ['operator-catalog', 'targets'] as const,
};

/** Refuses calls until an instant; null: until the pause is ended. */
export const pauseModel = (id: string, until: string | null, reason: string) =>
  api.put<WholeModel>(`/operator/model-pauses/${idPath(id)}`, { body: { until, reason } });
export const resumeModel = (id: string) => api.delete<WholeModel>(`/operator/model-pauses/${idPath(id)}`);
export const listModels = (signal?: AbortSignal) => api.get<Page<OperatorModel>>('/operator/models', { signal });
export const getModel = (id: string, signal?: AbortSignal) => api.get<WholeModel>(`/operator/models/${idPath(id)}`, { signal });
export const createModel = (model: ModelFields & { readonly id: string }) => api.post<WholeModel>('/operator/models', { body: { model } });
export const updateModel = (id: string, model: UpdateModel) => api.patch<WholeModel>(`/operator/models/${idPath(id)}`, { body: { model } });
/** Where all models with their prices are downloaded as one document. */
export const catalogFileUrl = (): string => apiUrl('/operator/catalog.json');

export const putDraft = (id: string, draft: PutDraft) => api.put<ComparedDraft>(`/operator/price-drafts/${idPath(id)}`, { body: draft });
export const discardDraft = (id: string, version: number) =>
  api.delete<undefined>(`/operator/price-drafts/${idPath(id)}`, { query: { version } });
export const publishDraft = (id: string, { version, diff }: ComparedDraft) =>
  api.post<Price>(`/operator/prices/${idPath(id)}`, { body: { draft_version: version, before_price_id: diff.before?.id ?? null } });

export const listUpstreams = (signal?: AbortSignal) => api.get<Page<Upstream>>('/operator/upstreams', { signal });
export const createUpstream = (id: string, upstream: UpstreamFields, secret: string) =>
  api.post<Upstream>('/operator/upstreams', { body: { upstream: { id, ...upstream }, secret } });
/** Without a secret the current one is kept; an empty one removes it. */
export const updateUpstream = (id: string, upstream: Partial<UpstreamFields>, secret?: string) =>
  api.patch<Upstream>(`/operator/upstreams/${id}`, { body: { upstream, ...(secret === undefined ? {} : { secret }) } });
const credentialPath = (id: string, name: string): string => `/operator/upstreams/${id}/credentials/${encodeURIComponent(name)}`;
export const addCredential = (id: string, name: string, secret: string) =>
  api.put<Upstream>(credentialPath(id, name), { body: { secret, create_only: true } });
export const rotateCredential = (id: string, name: string, secret: string) =>
  api.put<Upstream>(credentialPath(id, name), { body: { secret } });
export const deleteCredential = (id: string, name: string) => api.delete<Upstream>(credentialPath(id, name));
export const listTargets = (signal?: AbortSignal) => api.get<Page<RoutedTarget>>('/operator/targets', { signal });
export const overrideTarget = (upstreamId: string, upstreamModel: string, credential: string | null, mode: OverrideMode) =>
  api.post<RoutedTarget>('/operator/targets/override', {
    body: { upstream_id: upstreamId, upstream_model: upstreamModel, credential, mode },
  });
export const deleteUpstream = (id: string) => api.delete<undefined>(`/operator/upstreams/${id}`);
export const testUpstream = (id: string, upstreamModel: string | null) =>
  api.post<UpstreamTest>(`/operator/upstreams/${id}/test`, { body: { upstream_model: upstreamModel } });
