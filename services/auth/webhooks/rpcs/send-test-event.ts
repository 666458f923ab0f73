// SendTestEvent: sends an example of an event to an endpoint and waits for the result.
import type { CallContext } from '#client/call-context.js';
import { newId } from '#kit/id.js';
import type { SendTestEventRequest, SendTestEventResponse } from '#proto/auth/v1/webhooks.js';
import { webhookBody, webhookEvents } from '#rules/webhook-events.js';
import { toNotificationMessage } from '../../notifications/render.js';
import { webhookTimeoutMs } from '../../notifications/webhook.js';
import { accountIdBytes, endpointIdBytes } from '../../requests/fields.js';
import { countManual, type WebhookDeps } from '../deps.js';
import { requestTo } from '../events.js';
import { checkedEventType } from '../fields.js';

/** Raises invalid_request, not_found and overloaded (too many requests by hand within an hour). */
export async function sendTestEvent(
  { accountId, endpointId, eventType }: SendTestEventRequest,
  context: CallContext,
  deps: WebhookDeps,
): Promise<SendTestEventResponse> {
  const { db, endpoints, notifier, audit, clock } = deps;
  accountIdBytes(accountId);
  const endpointBytes = endpointIdBytes(endpointId);
  const type = checkedEventType(eventType);
  await countManual(deps, accountId);
  const nowMs = clock.nowMs();
  const [id, eventId] = [newId('ntf', nowMs), newId('evt', nowMs)];
  const { isForAll, example: data } = webhookEvents[type];
  const json = webhookBody({ id: eventId, type, atMs: nowMs, accountId: isForAll ? undefined : accountId, data }, true);
  await db.transaction(async (tx) => {
    const endpoint = await endpoints.locked(tx, accountId, endpointBytes);
    await notifier.add(tx, { ...requestTo(endpoint, { id: eventId, type, json }, id), attemptsMax: 1 });
    await audit.append(tx, context, { action: 'webhook.test', accountId, targetId: endpointId, detail: { event_type: type } });
  });
  const [delivery] = await notifier.after([id], webhookTimeoutMs + 1000);
  return { delivery: toNotificationMessage(delivery!) };
}
