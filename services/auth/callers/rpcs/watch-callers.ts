// WatchCallers: pushes every caller and every change of one.
import type { CallContext } from '#client/call-context.js';
import type { WatchCallersRequest, WatchCallersResponse } from '#proto/auth/v1/callers.js';
import type { CallerDeps } from '../deps.js';

/** Runs until the consumer leaves or the service stops. Raises overloaded when the consumer falls too far behind. */
export async function* watchCallers(
  _request: WatchCallersRequest,
  context: CallContext,
  { callers, feed, heartbeatIntervalMs }: CallerDeps,
): AsyncGenerator<WatchCallersResponse> {
  let isSnapshot = true;
  // The snapshot is read when the watch is open, so that nothing between the two is missed; watchers keep the higher version.
  for await (const changes of feed.watch(context.signal)) {
    const changed = isSnapshot
      ? (await callers.list()).filter(({ revokedAtMs }) => revokedAtMs === undefined)
      : changes.flatMap(({ changed: each }) => (each?.$case === 'caller' ? [each.value] : []));
    yield { callers: changed, isSnapshot, heartbeatIntervalMs };
    isSnapshot = false;
  }
}
