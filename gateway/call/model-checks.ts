// What a call asks of a model and of a key before any money is touched.
import { AppError } from '#client/errors/app-error.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import type { Key } from '#proto/auth/v1/auth.js';
import { Capability, Modality, type Model } from '#proto/catalog/v1/catalog.js';
import type { ModalityNeed, ParsedCall } from '../formats/format.js';

/** The key must be allowed to use the model; raises model_not_permitted. */
export function assertPermitted(key: Key, model: Model): void {
  if (isPermitted(key, model)) return;
  throw new AppError(
    'model_not_permitted',
    `The platform key ending in ${key.lastFour} may not use the model "${model.id}". GET /v1/models lists the models it may use.`,
    {
      details: { field: 'model' },
    },
  );
}

const modalityNames: Partial<Record<Modality, string>> = {
  [Modality.MODALITY_IMAGE]: 'images',
  [Modality.MODALITY_DOCUMENT]: 'documents',
  [Modality.MODALITY_AUDIO]: 'audio',
};

/** The model must be able to read all that the body holds; raises unsupported_field. */
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

/**
 * A schema for the answer needs a model that keeps to one, or it would be a wish that nobody grants; raises unsupported_field. Any JSON
 * object (json_object) may be asked of every model.
 */
export function assertForms(model: Model, { request }: Pick<ParsedCall, 'request'>, format: ApiFormat): void {
  if (request.responseFormat?.format?.$case !== 'jsonSchema' || model.capabilities.includes(Capability.CAPABILITY_STRUCTURED_OUTPUT))
    return;
  const field = format === ApiFormat.API_FORMAT_MESSAGES ? 'output_config.format' : 'response_format';
  throw new AppError(
    'unsupported_field',
    `${field}: the model "${model.id}" does not keep to a JSON schema; leave it out, or choose a model that does (structured_output in the features of GET /v1/models).`,
    {
      details: { field },
    },
  );
}

/** Whether the key may list and call the model. */
export function isPermitted(key: Key, model: Model): boolean {
  const permission = key.models;
  return permission === undefined || permission.allModels || permission.modelIds.includes(model.id);
}
