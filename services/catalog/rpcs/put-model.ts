// PutModel: creates a model, or replaces all of its fields except the prices.
import { type AuditEvent, changedFields } from '#kit/audit/audit-event.js';
import { fault, fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { Model, ModelState, type PutModelRequest, type PutModelResponse } from '#proto/catalog/v1/catalog.js';
import { modelDetail } from '../audit-details.js';
import type { RpcDeps } from '../deps.js';
import { refuseFaults } from '../fault.js';
import { findByName, modelFaults, modelsMax } from '../models/model.js';
import { priceInForce } from '../prices/price.js';
import type { StoredModel } from '../store/rows.js';

/**
 * Stores the model; from then on it belongs to the operator, and the seed file does not change it. Raises invalid_request for a field
 * out of bounds, already_exists when the id or an alias names another model, failed_precondition when the catalog is full.
 */
export async function putModel(request: PutModelRequest, context: CallContext, { store, feed, clock }: RpcDeps): Promise<PutModelResponse> {
  const { model } = request;
  if (model === undefined) throw fieldFault('model', 'required');
  refuseFaults('model', modelFaults(model));
  const nowMs = clock.nowMs();
  const stored = await store.change(async (change) => {
    const models = (await change.models()).map((existing) => existing.model);
    const previous = models.find(({ id }) => id === model.id);
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
    return { ...next.model, price: priceInForce(await change.prices(model.id), nowMs) };
  });
  feed.changed();
  return { model: stored };
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
