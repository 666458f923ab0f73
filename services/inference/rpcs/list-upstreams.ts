// Lists the upstreams, without their secrets.
import type { CallContext } from '#kit/rpc/call-context.js';
import type { ListUpstreamsRequest, ListUpstreamsResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';

/** InferenceService.ListUpstreams. */
export async function listUpstreams(_request: ListUpstreamsRequest, _context: CallContext, { registry }: RpcDeps): Promise<ListUpstreamsResponse> {
  return { upstreams: await registry.list() };
}
