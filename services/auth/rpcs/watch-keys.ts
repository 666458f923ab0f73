// WatchKeys: pushes every change of a key, a project or an account.
import type { CallContext } from '#client/call-context.js';
import type { WatchKeysRequest, WatchKeysResponse, WatchKeysResponse_Change } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import type { Change } from '../store/changes.js';

/** Runs until the consumer disconnects or the service stops. Raises overloaded when the consumer falls too far behind. */
export async function* watchKeys(_request: WatchKeysRequest, context: CallContext, deps: RpcDeps): AsyncGenerator<WatchKeysResponse> {
  for await (const changes of deps.feed.watch(context.signal)) {
    yield { changes: changes.filter(isOfKeys), heartbeatIntervalMs: deps.heartbeatIntervalMs };
  }
}

function isOfKeys(change: Change): change is WatchKeysResponse_Change {
  return change.changed?.$case !== 'caller';
}
