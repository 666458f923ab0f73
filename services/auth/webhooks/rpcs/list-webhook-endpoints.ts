// ListWebhookEndpoints: the endpoints of an account.
import type { CallContext } from '#client/call-context.js';
import type { ListWebhookEndpointsRequest, ListWebhookEndpointsResponse } from '#proto/auth/v1/webhooks.js';
import { accountIdBytes } from '../../requests/fields.js';
import type { WebhookDeps } from '../deps.js';

/** Raises invalid_request. */
export async function listWebhookEndpoints(
  { accountId }: ListWebhookEndpointsRequest,
  _context: CallContext,
  { endpoints }: WebhookDeps,
): Promise<ListWebhookEndpointsResponse> {
  accountIdBytes(accountId);
  return { endpoints: await endpoints.ofAccount(accountId) };
}
