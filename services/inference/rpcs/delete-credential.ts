// Removes a credential of a stored upstream.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { DeleteCredentialRequest, DeleteCredentialResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { toMessage } from '../upstreams/registry.js';
import { refuseManaged } from './put-upstream.js';

/** Implements InferenceService.DeleteCredential. */
export async function deleteCredential(
  { upstreamId, credentialId }: DeleteCredentialRequest,
  context: CallContext,
  { registry, store, audit }: RpcDeps,
): Promise<DeleteCredentialResponse> {
  refuseManaged(upstreamId, registry);
  const row = await store.put(
    upstreamId,
    (present) => {
      if (present === undefined) throw fault('no_such_id', { what: 'upstream' });
      const credentials = present.credentials.filter(({ id }) => id !== credentialId);
      if (credentials.length === present.credentials.length) throw fault('no_such_id', { what: 'credential' });
      return { ...present, credentials };
    },
    (tx) =>
      audit.append(tx, context, {
        action: 'upstream.credential',
        targetId: upstreamId,
        detail: { credential: credentialId, change: 'removed' },
      }),
  );
  await registry.reload();
  return { upstream: toMessage(row) };
}
