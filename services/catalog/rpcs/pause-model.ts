// PauseModel: refuses the calls of a model for a while.
import type { CallContext } from '#client/call-context.js';
import { fieldFault } from '#client/errors/fault.js';
import type { ModelPause, PauseModelRequest, PauseModelResponse } from '#proto/catalog/v1/catalog.js';
import { pauseAt } from '#rules/upstreams/model-pause.js';
import type { RpcDeps } from '../deps.js';
import { changePause } from '../models/change-pause.js';
import { startMsMax } from '../prices/price.js';

const reasonCharsMax = 200;

/** Starts a pause, or changes its end and reason. Raises invalid_request for an end in the past or an invalid reason, and model_unknown. */
export async function pauseModel(
  { modelId, untilMs, reason }: PauseModelRequest,
  context: CallContext,
  deps: RpcDeps,
): Promise<PauseModelResponse> {
  const nowMs = deps.clock.nowMs();
  if (untilMs !== 0n && untilMs <= BigInt(nowMs)) throw fieldFault('until_ms', 'future');
  if (untilMs > startMsMax) throw fieldFault('until_ms', 'before_year', { year: 2100 });
  if ([...reason].length > reasonCharsMax || /\p{Cc}/u.test(reason)) throw fieldFault('reason', 'printable', { max: reasonCharsMax });
  const pauseOf = (present: ModelPause | undefined): ModelPause => ({ sinceMs: present?.sinceMs ?? BigInt(nowMs), untilMs, reason });
  const detail = { until: untilMs === 0n ? null : new Date(Number(untilMs)).toISOString(), reason };
  const model = await changePause(
    modelId,
    (before) => {
      const present = pauseAt(before, nowMs);
      // A repeat changes nothing.
      if (present !== undefined && present.untilMs === untilMs && present.reason === reason) return undefined;
      return { pause: pauseOf(present), event: { action: 'model.pause', detail } };
    },
    context,
    deps,
  );
  return { model };
}
