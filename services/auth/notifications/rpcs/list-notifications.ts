// ListNotifications: what was sent for an account, newest first.
import type { CallContext } from '#client/call-context.js';
import type { ListNotificationsRequest, ListNotificationsResponse } from '#proto/auth/v1/notifications.js';
import { accountIdBytes, endpointIdBytes } from '../../requests/fields.js';
import { parsePageRequest, readPage } from '../../requests/paging.js';
import type { NotificationDeps } from '../deps.js';
import { toNotificationMessage } from '../render.js';

/** Raises invalid_request. */
export async function listNotifications(
  request: ListNotificationsRequest,
  _context: CallContext,
  { notifications }: NotificationDeps,
): Promise<ListNotificationsResponse> {
  const accountId = accountIdBytes(request.accountId);
  const filter = { channel: request.channel, endpointId: request.endpointId === '' ? undefined : endpointIdBytes(request.endpointId) };
  const page = await readPage(parsePageRequest(request, 'ntf'), (after, limit) => notifications.page(accountId, filter, after, limit));
  return { notifications: page.items.map(toNotificationMessage), nextPageToken: page.nextPageToken };
}
