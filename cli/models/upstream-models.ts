// Entries of the catalog from an upstream's own list of models. Pure.
import { Capability, Modality, Model, ModelState, Tokenizer } from '#proto/catalog/v1/catalog.js';
import type { UpstreamModel } from '#proto/inference/v1/inference.js';
import { CliError } from '../errors.js';

/** Options that apply to all imported models. */
export interface ImportedAs {
  /** The beginning of the ids. */
  readonly prefix: string;
  /** The names of the models to import; absent: all. */
  readonly only?: readonly string[] | undefined;
  /** The context of models for which the upstream does not give it. */
  readonly context?: number | undefined;
  /** The most output of one answer; absent: what the upstream says, or the context. */
  readonly maxOutput?: number | undefined;
  readonly capabilities: readonly Capability[];
  readonly images: boolean;
  /** Whether they return vectors. */
  readonly embeddings: boolean;
}

/** Returns an entry for each model. Raises a CliError for names that are not in the list, models without a known context, and equal ids. */
export function modelsOfList(upstreamId: string, listed: readonly UpstreamModel[], as: ImportedAs): Model[] {
  const missing = as.only?.find((name) => !listed.some((model) => model.name === name));
  if (missing !== undefined) {
    const names = listed.map(({ name }) => name).slice(0, 20);
    throw new CliError(`The upstream has no model "${missing}".`, { fix: `It lists ${names.join(', ') || 'none'}.`, exitCode: 2 });
  }
  const wanted = listed.filter(({ name }) => as.only === undefined || as.only.includes(name));
  const unknown = wanted.filter(({ contextTokens }) => contextTokens === undefined && as.context === undefined);
  if (unknown.length > 0) {
    throw new CliError(`The upstream does not report the context limit of ${unknown.map(({ name }) => name).join(', ')}.`, {
      fix: 'Use --context <tokens>.',
      exitCode: 2,
    });
  }
  const entries = wanted.map((model) => entryOf(upstreamId, model, as));
  const names = new Map<string, string>();
  for (const [index, { id }] of entries.entries()) {
    const { name } = wanted[index]!;
    const other = names.get(id);
    if (other !== undefined) {
      throw new CliError(`The models "${other}" and "${name}" would both have the id ${id}.`, {
        fix: 'Import one of them with --models, and the other with another --prefix.',
        exitCode: 2,
      });
    }
    names.set(id, name);
  }
  return entries;
}

function entryOf(upstreamId: string, { name, contextTokens, outputTokens }: UpstreamModel, as: ImportedAs): Model {
  const contextLimitTokens = contextTokens ?? as.context!;
  const outputLimitTokens = as.embeddings ? 0 : Math.min(as.maxOutput ?? outputTokens ?? contextLimitTokens, contextLimitTokens);
  return Model.fromPartial({
    id: `${as.prefix}${idOf(name)}`,
    displayName: name.slice(0, 200),
    provider: upstreamId,
    contextLimitTokens,
    outputLimitTokens,
    inputModalities: [Modality.MODALITY_TEXT, ...(as.images ? [Modality.MODALITY_IMAGE] : [])],
    outputModalities: [as.embeddings ? Modality.MODALITY_EMBEDDING : Modality.MODALITY_TEXT],
    capabilities: as.embeddings ? [] : [...as.capabilities],
    targets: [{ upstreamId, upstreamModel: name }],
    tokenizer: Tokenizer.TOKENIZER_O200K,
    state: ModelState.MODEL_STATE_ACTIVE,
    prefixAffinity: true,
  });
}

/** Returns a name as a part of an id. llama.cpp and others name a model by its file. */
function idOf(name: string): string {
  const withoutFile = /\.gguf$/i.test(name) ? name.replace(/^.*[\\/]/, '').replace(/\.gguf$/i, '') : name;
  return withoutFile
    .toLowerCase()
    .replaceAll(/[^a-z0-9._:/-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '');
}
