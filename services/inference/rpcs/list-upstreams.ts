// Lists the upstreams, without their secrets.
import type { CallContext } from '#client/call-context.js';
import type { ListUpstreamsRequest, ListUpstreamsResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';

/** Implements InferenceService.ListUpstreams. */
export async function listUpstreams(
  { withTests }: ListUpstreamsRequest,
  _context: CallContext,
  { registry, store }: RpcDeps,
): Promise<ListUpstreamsResponse> {
  const upstreams = await registry.list();
  if (withTests !== true) return { upstreams };
  const tests = await store.tests();
  return { upstreams: upstreams.map((upstream) => ({ ...upstream, lastTest: tests.get(upstream.id) })) };
}
