// DeleteWebhookEndpoint: deletes an endpoint.
import type { CallContext } from '#client/call-context.js';
import type { DeleteWebhookEndpointRequest, DeleteWebhookEndpointResponse } from '#proto/auth/v1/webhooks.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { accountIdBytes, endpointIdBytes } from '../../requests/fields.js';
import type { WebhookDeps } from '../deps.js';

/** Raises invalid_request and not_found. */
export async function deleteWebhookEndpoint(
  { accountId, endpointId }: DeleteWebhookEndpointRequest,
  context: CallContext,
  { db, endpoints, notifications, audit, clock }: WebhookDeps,
): Promise<DeleteWebhookEndpointResponse> {
  accountIdBytes(accountId);
  const id = endpointIdBytes(endpointId);
  await db.transaction(async (tx) => {
    const { url } = await endpoints.locked(tx, accountId, id);
    await endpoints.remove(tx, endpointId);
    await notifications.withdrawFrom(tx, endpointId, { outcome: finding('endpoint_deleted', {}), dueAtMs: clock.nowMs() });
    const detail = { url: new URL(url).origin };
    await audit.append(tx, context, { action: 'webhook.delete', accountId, targetId: endpointId, detail });
  });
  return {};
}
