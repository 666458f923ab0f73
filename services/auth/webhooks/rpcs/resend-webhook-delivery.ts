// ResendWebhookDelivery: attempts a delivery once more and waits for the result.
import type { CallContext } from '#client/call-context.js';
import { fault } from '#client/errors/fault.js';
import { type ResendWebhookDeliveryRequest, type ResendWebhookDeliveryResponse, WebhookEndpointState } from '#proto/auth/v1/webhooks.js';
import { toNotificationMessage } from '../../notifications/render.js';
import { webhookTimeoutMs } from '../../notifications/webhook.js';
import { accountIdBytes, deliveryIdBytes, endpointIdBytes } from '../../requests/fields.js';
import { countManual, type WebhookDeps } from '../deps.js';

/** Raises invalid_request, not_found, failed_precondition (the endpoint is disabled) and overloaded (too many requests by hand within an hour). */
export async function resendWebhookDelivery(
  { accountId, deliveryId }: ResendWebhookDeliveryRequest,
  context: CallContext,
  deps: WebhookDeps,
): Promise<ResendWebhookDeliveryResponse> {
  const { db, endpoints, notifications, notifier, audit } = deps;
  accountIdBytes(accountId);
  deliveryIdBytes(deliveryId);
  await countManual(deps, accountId);
  await db.transaction(async (tx) => {
    const [found] = await notifications.find([deliveryId], tx);
    if (found?.accountId !== accountId || found.endpointId === undefined) throw fault('no_such_id', { what: 'delivery' });
    const endpoint = await endpoints.locked(tx, accountId, endpointIdBytes(found.endpointId));
    if (endpoint.state !== WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_ENABLED) throw fault('webhook_disabled', {});
    await notifier.restart(tx, found, endpoint.url);
    const detail = { endpoint_id: endpoint.id };
    await audit.append(tx, context, { action: 'webhook.resend', accountId, targetId: deliveryId, detail });
  });
  const [delivery] = await notifier.after([deliveryId], webhookTimeoutMs + 1000);
  return { delivery: toNotificationMessage(delivery!) };
}
