// WatchCallers: pushes every caller and every change of one, and the public keys of actor tokens.
import type { CallContext } from '#client/call-context.js';
import type { ActorKey } from '#kit/rpc/actor-token.js';
import type { SigningKey, WatchCallersRequest, WatchCallersResponse } from '#proto/auth/v1/callers.js';
import type { CallerDeps } from '../deps.js';

/** Runs until the consumer disconnects or the service stops. Raises overloaded when the consumer falls too far behind. */
export async function* watchCallers(
  _request: WatchCallersRequest,
  context: CallContext,
  { callers, signingKeys, feed, heartbeatIntervalMs }: CallerDeps,
): AsyncGenerator<WatchCallersResponse> {
  let isSnapshot = true;
  let sentKeys: readonly ActorKey[] | undefined;
  // The snapshot is read after the watch was opened, so that no change is missed between the two; watchers keep the higher version.
  for await (const changes of feed.watch(context.signal)) {
    const changed = isSnapshot
      ? (await callers.list()).filter(({ revokedAtMs }) => revokedAtMs === undefined)
      : changes.flatMap(({ changed: each }) => (each?.$case === 'caller' ? [each.value] : []));
    const keys = signingKeys.published();
    yield { callers: changed, isSnapshot, heartbeatIntervalMs, signingKeys: keys === sentKeys ? [] : keys.map(toSigningKey) };
    sentKeys = keys;
    isSnapshot = false;
  }
}

function toSigningKey({ kid, publicKey }: ActorKey): SigningKey {
  return { kid, publicKey: Buffer.from(publicKey) };
}
