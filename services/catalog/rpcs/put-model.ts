// PutModel: creates a model, or replaces all of its fields except the prices, or those that a mask names.
import { type AuditEvent, changedFields } from '#kit/audit/audit-event.js';
import { fault, fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { checkedUpdateMask } from '#kit/rpc/update-mask.js';
import { pauseAt } from '#rules/upstreams/model-pause.js';
import { Model, ModelState, type PutModelRequest, type PutModelResponse } from '#proto/catalog/v1/catalog.js';
import { modelDetail } from '../audit-details.js';
import type { RpcDeps } from '../deps.js';
import { refuseFaults } from '../fault.js';
import { findByName, modelFaults, modelsMax, unknownModel } from '../models/model.js';
import { priceInForce } from '../prices/price.js';
import type { StoredModel } from '../store/rows.js';

/** The fields that an update mask can name. */
const maskable = {
  display_name: 'displayName',
  description: 'description',
  provider: 'provider',
  context_limit_tokens: 'contextLimitTokens',
  output_limit_tokens: 'outputLimitTokens',
  input_modalities: 'inputModalities',
  output_modalities: 'outputModalities',
  capabilities: 'capabilities',
  targets: 'targets',
  tokenizer: 'tokenizer',
  state: 'state',
  image_tokens_max: 'imageTokensMax',
  prefix_affinity: 'prefixAffinity',
  hedge_after_ms: 'hedgeAfterMs',
  aliases: 'aliases',
} as const satisfies Readonly<Record<string, keyof Model>>;

/**
 * Stores the model; from then on it belongs to the operator, and the seed file does not change it. Raises invalid_request for a field
 * out of bounds, already_exists when the id or an alias names another model, or when the model exists and is only to be created, failed_precondition
 * when the catalog is full, model_unknown when some fields of a model that does not exist are to be changed.
 */
export async function putModel(request: PutModelRequest, context: CallContext, { store, feed, clock }: RpcDeps): Promise<PutModelResponse> {
  const { model: wanted, updateMask, createOnly } = request;
  if (wanted === undefined) throw fieldFault('model', 'required');
  const fields = updateMask === undefined ? undefined : checkedMask(updateMask);
  if (fields === undefined) refuseFaults('model', modelFaults(wanted));
  const nowMs = clock.nowMs();
  const stored = await store.change(async (change) => {
    const models = (await change.models()).map((existing) => existing.model);
    const previous = models.find(({ id }) => id === wanted.id);
    if (createOnly === true && previous !== undefined) throw fault('model_exists', { id: wanted.id }, { details: { field: 'model.id' } });
    const model = fields === undefined ? wanted : changedModel(previous, wanted, fields);
    refuseTakenNames(model, models);
    if (previous === undefined && models.length >= modelsMax) {
      throw fault('models_full', { max: modelsMax });
    }
    const next: StoredModel = {
      origin: 'operator',
      model: Model.fromPartial({ ...model, price: undefined, pause: previous?.pause, createdAtMs: previous?.createdAtMs ?? BigInt(nowMs) }),
    };
    await (previous === undefined ? change.insertModel(next) : change.updateModel(next));
    const event = modelEvent(previous, next.model);
    if (event !== undefined) await change.audit(context, event);
    return { ...next.model, pause: pauseAt(next.model, nowMs), price: priceInForce(await change.prices(model.id), nowMs) };
  });
  feed.changed();
  return { model: stored };
}

function checkedMask(mask: readonly string[]): (keyof Model)[] {
  return [...checkedUpdateMask(mask, Object.keys(maskable) as (keyof typeof maskable)[])].map((path) => maskable[path]);
}

/** Returns the present model with these fields of another one. Raises model_unknown, and invalid_request for a field out of bounds. */
function changedModel(present: Model | undefined, wanted: Model, fields: readonly (keyof Model)[]): Model {
  if (present === undefined) throw unknownModel(wanted.id);
  const changed = { ...present, ...Object.fromEntries(fields.map((field) => [field, wanted[field]])) };
  refuseFaults('model', modelFaults(changed));
  return changed;
}

/** Returns the audit event of the change; undefined if the model stays as it is. */
function modelEvent(before: Model | undefined, after: Model): AuditEvent | undefined {
  const targetId = after.id;
  if (before === undefined) return { action: 'model.create', targetId, detail: modelDetail(after) };
  const detail = changedFields(modelDetail(before), modelDetail(after));
  const isRetired = after.state === ModelState.MODEL_STATE_RETIRED && before.state !== after.state;
  return detail === undefined ? undefined : { action: isRetired ? 'model.retire' : 'model.update', targetId, detail };
}

function refuseTakenNames(model: Model, models: readonly Model[]): void {
  const others = models.filter(({ id }) => id !== model.id);
  for (const name of [model.id, ...model.aliases]) {
    const owner = findByName(others, name);
    if (owner === undefined) continue;
    throw fault('name_taken', { name, model: owner.id }, { details: { field: name === model.id ? 'model.id' : 'model.aliases' } });
  }
}
