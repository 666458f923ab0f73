// The public catalog.
import { gatewayUrl } from '../base.js';
import { ApiError } from './client.js';

/** A model of the catalog (gateway/formats/models-schema.ts); prices are decimal-string USD per million tokens, null when it has none. */
export interface CatalogModel {
  readonly id: string;
  readonly display_name: string;
  readonly available: boolean;
  readonly output_modalities: readonly string[];
  readonly lifecycle: 'active' | 'deprecated' | 'retired';
  readonly max_input_tokens: number;
  readonly max_tokens: number;
  readonly usd_per_million_tokens: Readonly<Record<string, string | null>> | null;
}

/** All models. */
export async function listCatalog(signal?: AbortSignal): Promise<readonly CatalogModel[]> {
  const response = await fetch(`${gatewayUrl}models.json`, { signal: signal ?? null });
  if (!response.ok) throw new ApiError(response.status, 'unexpected_answer', `The catalog was answered with ${response.status}.`);
  return ((await response.json()) as { data: CatalogModel[] }).data;
}
