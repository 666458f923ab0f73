// Lists the targets that are out of service, and the overrides of operators.
import type { CallContext } from '#client/call-context.js';
import type { ListTargetHealthRequest, ListTargetHealthResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { reportValidMs } from '../routing/health-reports.js';

/** Implements InferenceService.ListTargetHealth. */
export async function listTargetHealth(
  _request: ListTargetHealthRequest,
  _context: CallContext,
  { targets, clock }: RpcDeps,
): Promise<ListTargetHealthResponse> {
  return { targets: await targets.health(clock.nowMs() - reportValidMs), overrides: await targets.overrides() };
}
