// ResumeModel: ends the pause of a model.
import type { CallContext } from '#client/call-context.js';
import type { ResumeModelRequest, ResumeModelResponse } from '#proto/catalog/v1/catalog.js';
import { pauseAt } from '#rules/upstreams/model-pause.js';
import type { RpcDeps } from '../deps.js';
import { changePause } from '../models/change-pause.js';

/** Ends the pause, if there is one. Raises model_unknown. */
export async function resumeModel({ modelId }: ResumeModelRequest, context: CallContext, deps: RpcDeps): Promise<ResumeModelResponse> {
  const nowMs = deps.clock.nowMs();
  const model = await changePause(
    modelId,
    (before) => (pauseAt(before, nowMs) === undefined ? undefined : { pause: undefined, event: { action: 'model.resume' } }),
    context,
    deps,
  );
  return { model };
}
