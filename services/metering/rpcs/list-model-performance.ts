// ListModelPerformance: how fast and how reliable each model was, over all accounts.
import type { CallContext } from '#client/call-context.js';
import type { ListModelPerformanceRequest, ListModelPerformanceResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';

/** Returns the figures of a recent measurement, which may be some minutes old. */
export async function listModelPerformance(
  _request: ListModelPerformanceRequest,
  _context: CallContext,
  { modelPerformances }: RpcDeps,
): Promise<ListModelPerformanceResponse> {
  return { models: await modelPerformances.read() };
}
