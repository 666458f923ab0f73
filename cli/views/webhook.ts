// The output of webhook endpoints and their deliveries.
import { type Notification, NotificationState } from '#proto/auth/v1/notifications.js';
import { type WebhookEndpoint, WebhookEndpointState } from '#proto/auth/v1/webhooks.js';
import type { WebhookBody } from '#rules/webhook-events.js';
import { instant, instantJson, type View } from '../output.js';
import { wordsOf } from '../options/parse.js';
import { maybe, maybeJson } from './alert.js';

const endpointStates = wordsOf<WebhookEndpointState>(WebhookEndpointState, 'WEBHOOK_ENDPOINT_STATE_');
const deliveryStates = wordsOf<NotificationState>(NotificationState, 'NOTIFICATION_STATE_');
const eventOf = ({ eventJson }: Notification): WebhookBody => JSON.parse(eventJson) as WebhookBody;

/** An endpoint. */
export const endpointView: View<WebhookEndpoint> = {
  json: (endpoint) => ({
    id: endpoint.id,
    account_id: endpoint.accountId,
    url: endpoint.url,
    description: endpoint.description,
    event_types: endpoint.eventTypes,
    state: endpointStates.of(endpoint.state),
    failing_since: maybeJson(endpoint.failingSinceMs),
    previous_secret_expires_at: maybeJson(endpoint.previousSecretExpiresAtMs),
    created_at: instantJson(endpoint.createdAtMs),
    updated_at: instantJson(endpoint.updatedAtMs),
  }),
  columns: [
    { title: 'id', text: ({ id }) => id },
    { title: 'url', text: ({ url }) => url },
    { title: 'events', text: ({ eventTypes }) => eventTypes.join(', ') },
    { title: 'state', text: ({ state }) => endpointStates.of(state) },
    { title: 'failing since', text: ({ failingSinceMs }) => maybe(failingSinceMs) },
    { title: 'description', text: ({ description }) => description },
  ],
};

/** One event to one endpoint. */
export const webhookDeliveryView: View<Notification> = {
  json(delivery) {
    const { id, type, test = false } = eventOf(delivery);
    return {
      id: delivery.id,
      account_id: delivery.accountId,
      endpoint_id: delivery.endpointId,
      url: delivery.destination,
      event_id: id,
      event_type: type,
      test,
      body: delivery.eventJson,
      state: deliveryStates.of(delivery.state),
      attempts: delivery.attempts,
      outcome: delivery.lastResult,
      created_at: instantJson(delivery.createdAtMs),
      next_attempt_at: maybeJson(delivery.nextAttemptAtMs),
      ended_at: maybeJson(delivery.endedAtMs),
    };
  },
  columns: [
    { title: 'id', text: ({ id }) => id },
    { title: 'time', text: ({ createdAtMs }) => instant(createdAtMs) },
    { title: 'event', text: (delivery) => `${eventOf(delivery).type}${eventOf(delivery).test === true ? ' (test)' : ''}` },
    { title: 'to', text: ({ destination }) => destination },
    { title: 'state', text: ({ state }) => deliveryStates.of(state) },
    { title: 'tries', text: ({ attempts }) => String(attempts), align: 'right' },
    { title: 'outcome', text: ({ lastResult }) => lastResult },
  ],
};
