// GetKey: returns one key by its id.
import type { CallContext } from '#client/call-context.js';
import type { GetKeyRequest, GetKeyResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { keyIdBytes } from '../requests/fields.js';
import { found } from '../requests/found.js';
import { ownKey } from '../requests/own-key.js';

/** Raises invalid_request and not_found. */
export async function getKey(request: GetKeyRequest, context: CallContext, deps: RpcDeps): Promise<GetKeyResponse> {
  const own = request.accountId === '' ? undefined : ownKey(request, context, 'viewer');
  const key = found(await deps.keys.find(keyIdBytes(request.keyId)), 'key');
  own?.check(key);
  return { key };
}
