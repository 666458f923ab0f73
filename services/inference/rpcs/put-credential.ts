// Adds a credential to a stored upstream, or replaces its secret.
import { fault, fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { PutCredentialRequest, PutCredentialResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { checkSecret, credentialsMax, sealed, withCredential } from '../upstreams/credentials.js';
import { toMessage } from '../upstreams/registry.js';
import { refuseManaged } from './put-upstream.js';

/** Implements InferenceService.PutCredential. */
export async function putCredential(
  { upstreamId, credentialId, secret, createOnly }: PutCredentialRequest,
  context: CallContext,
  { registry, store, box, clock, audit }: RpcDeps,
): Promise<PutCredentialResponse> {
  refuseManaged(upstreamId, registry);
  if (!/^[a-z0-9_-]{1,64}$/.test(credentialId)) throw fieldFault('credential_id', 'upstream_id', { max: 64 });
  if (secret === '') throw fieldFault('secret', 'required');
  checkSecret(secret);
  const row = await store.put(
    upstreamId,
    (present) => {
      if (present === undefined) throw fault('no_such_id', { what: 'upstream' });
      if (createOnly === true && present.credentials.some(({ id }) => id === credentialId))
        throw fault('credential_exists', { upstream: upstreamId, id: credentialId }, { details: { field: 'credential_id' } });
      const added = sealed(credentialId, secret, present, clock.nowMs(), box);
      const credentials = withCredential(present.credentials, added);
      if (credentials.length > credentialsMax) throw fault('credentials_full', { max: credentialsMax });
      return { ...present, credentials };
    },
    async (tx, before) => {
      const isNew = before?.credentials.every(({ id }) => id !== credentialId) === true;
      const detail = { credential: credentialId, change: isNew ? 'added' : 'rotated' };
      await audit.append(tx, context, { action: 'upstream.credential', targetId: upstreamId, detail });
    },
  );
  await registry.reload();
  return { upstream: toMessage(row) };
}
