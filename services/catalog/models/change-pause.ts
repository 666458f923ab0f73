// Changes the pause of a model.
import type { AuditEvent } from '#kit/audit/audit-event.js';
import type { CallContext } from '#client/call-context.js';
import type { Model, ModelPause } from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from '../deps.js';
import { pauseAt } from '#rules/upstreams/model-pause.js';
import { priceInForce } from '../prices/price.js';
import { modelNamed } from './model.js';

/** Replaces the pause with the result of `change` and appends its audit event, unless nothing changes. Returns the model. Raises model_unknown. */
export async function changePause(
  modelId: string,
  change: (model: Model) => { readonly pause: ModelPause | undefined; readonly event: Omit<AuditEvent, 'targetId'> } | undefined,
  context: CallContext,
  { store, feed, clock }: RpcDeps,
): Promise<Model> {
  const nowMs = clock.nowMs();
  const model = await store.change(async (changes) => {
    const stored = await changes.models();
    const { id } = modelNamed(stored, modelId);
    const before = stored.find((each) => each.model.id === id)!;
    const changed = change(before.model);
    const after = changed === undefined ? before : { ...before, model: { ...before.model, pause: changed.pause } };
    if (changed !== undefined) {
      await changes.updateModel(after);
      await changes.audit(context, { ...changed.event, targetId: id });
    }
    return { ...after.model, pause: pauseAt(after.model, nowMs), price: priceInForce(await changes.prices(id), nowMs) };
  });
  feed.changed();
  return model;
}
