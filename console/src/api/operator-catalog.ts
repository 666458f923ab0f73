// Models, dated prices and upstreams, for operators.
import { api, apiUrl, type Page } from './client.js';

/** Decimal USD per million tokens; `reasoning` null: charged as output. */
export interface Figures {
  readonly input: string;
  readonly cache_read: string;
  readonly cache_write_5m: string;
  readonly cache_write_1h: string;
  readonly output: string;
  readonly reasoning: string | null;
}

/** A class of tokens that is priced. */
export type TokenClass = keyof Figures;

export interface Price {
  readonly id: string;
  readonly effective_from: string;
  readonly usd_per_million_tokens: Figures;
  readonly created_at: string;
}

export interface DatedPrice extends Price {
  readonly state: 'past' | 'in_force' | 'scheduled';
  readonly effective_until: string | null;
}

export interface Draft {
  readonly model_id: string;
  readonly version: number;
  readonly author: string | null;
  readonly updated_at: string;
  /** Null: when it is published. */
  readonly effective_from: string | null;
  readonly usd_per_million_tokens: Figures;
}

export type WarningKind =
  | 'free'
  | 'zero'
  | 'output_below_input'
  | 'large_change'
  | 'first_price'
  | 'no_change'
  | 'start_passed'
  | 'ended_by_later';

export interface Change {
  readonly class: TokenClass;
  readonly before_usd: string | null;
  readonly after_usd: string | null;
  readonly change_percent: string | null;
}

export interface TypicalCall {
  readonly name: string;
  readonly tokens: Readonly<Record<'input' | 'cache_read' | 'output' | 'reasoning', number>>;
  readonly before_usd: string | null;
  readonly after_usd: string;
}

/** A draft and what publishing it would change. */
export interface ComparedDraft extends Draft {
  readonly diff: {
    readonly before: Price | null;
    readonly changes: readonly Change[];
    readonly warnings: readonly { readonly kind: WarningKind; readonly class: TokenClass | null }[];
    readonly later: readonly Price[];
    readonly typical_calls: readonly TypicalCall[];
  };
}

export type ModelState = 'active' | 'deprecated' | 'retired';

/** What an operator puts. */
export interface ModelFields {
  readonly display_name: string;
  readonly description: string;
  readonly provider: string;
  readonly context_limit_tokens: number;
  readonly output_limit_tokens: number;
  readonly input_modalities: readonly string[];
  readonly output_modalities: readonly string[];
  readonly capabilities: readonly string[];
  readonly targets: readonly { readonly upstream_id: string; readonly upstream_model: string }[];
  readonly tokenizer: string;
  readonly state: ModelState;
  readonly image_tokens_max: number;
  readonly aliases: readonly string[];
}

export interface OperatorModel extends Omit<ModelFields, 'targets'> {
  readonly id: string;
  readonly targets: readonly {
    readonly upstream_id: string;
    readonly upstream_model: string;
    readonly state: 'ok' | 'disabled' | 'unknown_upstream';
  }[];
  readonly pricing: 'unpriced' | 'free' | 'priced';
  readonly price: Price | null;
  readonly next_price: Price | null;
  readonly draft: Draft | null;
  readonly served: boolean;
  readonly not_served_because: 'retired' | 'unpriced' | 'no_enabled_upstream' | null;
}

/** A model with all of its prices. */
export interface WholeModel extends Omit<OperatorModel, 'draft'> {
  readonly prices: readonly DatedPrice[];
  readonly draft: ComparedDraft | null;
}

export interface TestStep {
  readonly name: string;
  readonly outcome: 'ok' | 'failed' | 'skipped' | 'not_run';
  readonly duration_ms: number;
  readonly what: string;
}

export interface UpstreamTest {
  readonly at: string;
  readonly ok: boolean;
  readonly failed_step: string | null;
  readonly upstream_model: string | null;
  readonly steps: readonly TestStep[];
}

export interface Upstream {
  readonly id: string;
  readonly api_format: 'chat_completions' | 'messages' | 'sandbox';
  readonly base_url: string | null;
  readonly has_secret: boolean;
  /** Null where there is none, or one that is too short to show a part of it. */
  readonly secret_last_four: string | null;
  readonly allow_private_network: boolean;
  readonly enabled: boolean;
  readonly locked: 'built_in' | 'environment' | null;
  readonly managed_by: string | null;
  readonly last_test: UpstreamTest | null;
  readonly models: readonly {
    readonly id: string;
    readonly upstream_model: string;
    readonly retired: boolean;
    readonly trial_cost_usd: string | null;
  }[];
}

/** What an operator puts. */
export interface UpstreamFields {
  readonly api_format: 'chat_completions' | 'messages';
  readonly base_url: string;
  readonly allow_private_network: boolean;
  readonly enabled: boolean;
}

/** Ids of models hold slashes, which stay as they are. */
const idPath = (id: string): string => id.split('/').map(encodeURIComponent).join('/');

/** Keys of the query cache. */
export const catalogKeys = {
  all: ['operator-catalog'] as const,
  models: ['operator-catalog', 'models'] as const,
  model: (id: string) => ['operator-catalog', 'model', id] as const,
  upstreams: ['operator-catalog', 'upstreams'] as const,
};

export const listModels = (signal?: AbortSignal) => api.get<Page<OperatorModel>>('/operator/models', { signal });
export const getModel = (id: string, signal?: AbortSignal) => api.get<WholeModel>(`/operator/models/${idPath(id)}`, { signal });
export const createModel = (model: ModelFields & { readonly id: string }) => api.post<WholeModel>('/operator/models', { body: { model } });
export const updateModel = (id: string, model: Partial<ModelFields>) =>
  api.patch<WholeModel>(`/operator/models/${idPath(id)}`, { body: { model } });
/** Where all models with their prices are downloaded as one document. */
export const catalogFileUrl = (): string => apiUrl('/operator/catalog.json');

export const putDraft = (id: string, draft: { usd_per_million_tokens: Figures; effective_from: string | null; replaces_version: number }) =>
  api.put<ComparedDraft>(`/operator/price-drafts/${idPath(id)}`, { body: draft });
export const discardDraft = (id: string, version: number) =>
  api.delete<undefined>(`/operator/price-drafts/${idPath(id)}`, { query: { version } });
export const publishDraft = (id: string, { version, diff }: ComparedDraft) =>
  api.post<Price>(`/operator/prices/${idPath(id)}`, { body: { draft_version: version, before_price_id: diff.before?.id ?? null } });

export const listUpstreams = (signal?: AbortSignal) => api.get<Page<Upstream>>('/operator/upstreams', { signal });
export const createUpstream = (id: string, upstream: UpstreamFields, secret: string) =>
  api.post<Upstream>('/operator/upstreams', { body: { upstream: { id, ...upstream }, secret } });
/** Without a secret the present one is kept; an empty one takes it away. */
export const updateUpstream = (id: string, upstream: Partial<UpstreamFields>, secret?: string) =>
  api.patch<Upstream>(`/operator/upstreams/${id}`, { body: { upstream, ...(secret === undefined ? {} : { secret }) } });
export const deleteUpstream = (id: string) => api.delete<undefined>(`/operator/upstreams/${id}`);
export const testUpstream = (id: string, upstreamModel: string | null) =>
  api.post<UpstreamTest>(`/operator/upstreams/${id}/test`, { body: { upstream_model: upstreamModel } });
