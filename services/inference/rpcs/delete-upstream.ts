// Removes a stored upstream. Its calls in flight are allowed to finish.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { DeleteUpstreamRequest, DeleteUpstreamResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { refuseManaged } from './put-upstream.js';

/** Implements InferenceService.DeleteUpstream. */
export async function deleteUpstream(
  { upstreamId }: DeleteUpstreamRequest,
  context: CallContext,
  deps: RpcDeps,
): Promise<DeleteUpstreamResponse> {
  refuseManaged(upstreamId, deps.registry);
  const isDeleted = await deps.store.delete(upstreamId, (tx) =>
    deps.audit.append(tx, context, { action: 'upstream.delete', targetId: upstreamId }),
  );
  if (!isDeleted) throw fault('no_such_id', { what: 'upstream' });
  await deps.registry.reload();
  return {};
}
