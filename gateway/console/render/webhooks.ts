// Webhook endpoints and their deliveries as JSON. Pure.
import type { Notification } from '#proto/auth/v1/notifications.js';
import type { WebhookEndpoint as EndpointMessage } from '#proto/auth/v1/webhooks.js';
import type { WebhookBody, WebhookEventType } from '#rules/webhook-events.js';
import type { WebhookDelivery, WebhookEndpoint } from '../schemas/webhooks.js';
import { instant } from './alerts.js';
import { words } from './words.js';

/** Returns an address, or only its host: the path of many webhooks is their only secret. */
function shownUrl(url: string, isWhole: boolean): string {
  return isWhole ? url : `${new URL(url).origin}/…`;
}

/** Renders an endpoint; without `isWhole` only the host of its address. */
export function renderEndpoint(endpoint: EndpointMessage, isWhole = true): WebhookEndpoint {
  return {
    id: endpoint.id,
    url: shownUrl(endpoint.url, isWhole),
    description: endpoint.description,
    event_types: endpoint.eventTypes as WebhookEventType[],
    state: words.endpointState.of(endpoint.state),
    failing_since: instant(endpoint.failingSinceMs),
    previous_secret_expires_at: instant(endpoint.previousSecretExpiresAtMs),
    created_at: instant(endpoint.createdAtMs),
    updated_at: instant(endpoint.updatedAtMs),
  };
}

/** Renders one event to one endpoint; without `isWhole` only the host of its address. */
export function renderWebhookDelivery(notification: Notification, isWhole = true): WebhookDelivery {
  const { id, type, test = false } = JSON.parse(notification.eventJson) as WebhookBody;
  return {
    id: notification.id,
    endpoint_id: notification.endpointId,
    url: shownUrl(notification.destination, isWhole),
    event_id: id,
    event_type: type,
    test,
    body: notification.eventJson,
    state: words.deliveryState.of(notification.state),
    attempts: notification.attempts,
    outcome: notification.lastResult,
    created_at: instant(notification.createdAtMs),
    next_attempt_at: instant(notification.nextAttemptAtMs),
    ended_at: instant(notification.endedAtMs),
  };
}
