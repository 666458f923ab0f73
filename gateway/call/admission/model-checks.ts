// Checks that the model, the key and its project allow a call, before any money is held.
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import type { Key, ModelPermission, Project } from '#proto/auth/v1/auth.js';
import { Capability, Modality, type Model } from '#proto/catalog/v1/catalog.js';
import type { ModalityNeed, ParsedCall } from '../../formats/format.js';
import type { JsonOutline } from '../../http/middleware/json-outline.js';
import type { ModelReplica } from '../../replicas/models.js';

/** A key with its project. */
export interface PermittedCaller {
  readonly key: Key;
  readonly project?: Project | undefined;
}

/** Throws model_not_permitted if the key or its project may not use the model. */
export function assertPermitted({ key, project }: PermittedCaller, model: Model): void {
  const options = { details: { field: 'model' } };
  if (!permits(key.models, model)) throw fault('model_not_in_key', { last_four: key.lastFour, model: model.id }, options);
  if (!permits(project?.models, model)) throw fault('model_not_in_project', { project: project!.name, model: model.id }, options);
}

const modalityNames: Partial<Record<Modality, string>> = {
  [Modality.MODALITY_IMAGE]: 'images',
  [Modality.MODALITY_DOCUMENT]: 'documents',
  [Modality.MODALITY_AUDIO]: 'audio',
};

/** Throws unsupported_field if the model cannot read all content of the body. */
export function assertReads(model: Model, needs: readonly ModalityNeed[]): void {
  const unread = needs.find(({ modality }) => !model.inputModalities.includes(modality));
  if (unread === undefined) return;
  const what = modalityNames[unread.modality] ?? 'this kind of content';
  throw new AppError(
    'unsupported_field',
    `${unread.field}: the model "${model.id}" does not read ${what}; leave it out, or choose a model that does (input_modalities in GET /v1/models).`,
    {
      details: { field: unread.field },
    },
  );
}

/** Throws unsupported_field if the call is for vectors and the model returns text, or the other way round. */
export function assertReturns(model: Model, wantsVectors: boolean): void {
  if (model.outputModalities.includes(Modality.MODALITY_EMBEDDING) === wantsVectors) return;
  throw new AppError(
    'unsupported_field',
    wantsVectors
      ? `model: "${model.id}" returns text, not vectors; call it with POST /v1/chat/completions, or choose a model with embedding in its output_modalities in GET /v1/models.`
      : `model: "${model.id}" returns vectors, not text; call it with POST /v1/embeddings.`,
    { details: { field: 'model' } },
  );
}

const formatFields: Partial<Record<ApiFormat, string>> = {
  [ApiFormat.API_FORMAT_MESSAGES]: 'output_config.format',
  [ApiFormat.API_FORMAT_RESPONSES]: 'text.format',
};

/**
 * Throws unsupported_field if the request has a schema for the answer and the model does not guarantee to follow one. Any JSON
 * object (json_object) may be requested from every model.
 */
export function assertForms(model: Model, { request }: Pick<ParsedCall, 'request'>, format: ApiFormat): void {
  if (request.responseFormat?.format?.$case !== 'jsonSchema' || model.capabilities.includes(Capability.CAPABILITY_STRUCTURED_OUTPUT))
    return;
  const field = formatFields[format] ?? 'response_format';
  throw new AppError(
    'unsupported_field',
    `${field}: the model "${model.id}" does not guarantee to follow a JSON schema; leave it out, or choose a model that does (structured_output in the features of GET /v1/models).`,
    {
      details: { field },
    },
  );
}

/** Reports whether the key and its project may list and call the model. */
export function isPermitted({ key, project }: PermittedCaller, model: Model): boolean {
  return permits(key.models, model) && permits(project?.models, model);
}

function permits(permission: ModelPermission | undefined, model: Model): boolean {
  return permission === undefined || permission.allModels || permission.modelIds.includes(model.id);
}

// No vocabulary in use has a longer token; texts of such tokens alone are blank or a repeated sign.
const tokenCharsMax = 128;
/** A shorter prompt is parsed in a few milliseconds, so its size is left to the upstream. */
const longPromptChars = 2 ** 20;

/**
 * Throws context_length_exceeded if a body cannot fit the context of its model, whatever is in it, and model_unknown if there is no such model: parsing
 * the longest bodies would occupy the process for a second.
 */
export function assertFits({ fields, promptChars }: JsonOutline, models: Pick<ModelReplica, 'find' | 'list'>): void {
  if (promptChars < longPromptChars) return;
  const name = textOf(fields.get('model'));
  // A model whose field is written with escapes is known only after parsing.
  const model = name === undefined ? largest(models.list()) : models.find(name);
  if (model === undefined || promptChars <= model.contextLimitTokens * tokenCharsMax) return;
  throw new AppError(
    'context_length_exceeded',
    `The body has ${promptChars} characters of text, which cannot fit the context of ${model.contextLimitTokens} tokens of the model "${model.id}". Shorten the conversation, or choose a model with a longer context.`,
    { details: { field: fields.has('input') ? 'input' : 'messages' } },
  );
}

function largest(models: readonly Model[]): Model | undefined {
  return models.reduce<Model | undefined>(
    (most, model) => (model.contextLimitTokens > (most?.contextLimitTokens ?? 0) ? model : most),
    undefined,
  );
}

/** Returns the text in a JSON string; undefined for anything else. */
function textOf(json: string | undefined): string | undefined {
  try {
    const value: unknown = JSON.parse(json ?? '');
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
