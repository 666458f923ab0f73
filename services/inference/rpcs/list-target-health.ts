// Lists the targets that are out of service or failing, or all, and the overrides of operators.
import type { CallContext } from '#client/call-context.js';
import { type ListTargetHealthRequest, type ListTargetHealthResponse, TargetState } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { reportValidMs } from '../routing/health-reports.js';

/** How long after a request processes also report their available targets. */
const watchMs = 30_000;

/** Implements InferenceService.ListTargetHealth. */
export async function listTargetHealth(
  { withAvailable }: ListTargetHealthRequest,
  _context: CallContext,
  { targets, registry, clock }: RpcDeps,
): Promise<ListTargetHealthResponse> {
  const nowMs = clock.nowMs();
  const { overrides, watchedUntilMs } = await targets.overrides();
  if (withAvailable === true && watchedUntilMs < nowMs + watchMs / 2) {
    await targets.watch(nowMs, nowMs + watchMs);
    // This process reports immediately, the others at their next call.
    await registry.reload();
  }
  const health = await targets.health(nowMs - reportValidMs);
  return {
    targets: withAvailable === true ? health : health.filter(({ state }) => state !== TargetState.TARGET_STATE_AVAILABLE),
    overrides,
  };
}
