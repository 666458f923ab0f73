// The webhook endpoints of an account, and what was sent to them.
import { type Static, Type } from 'typebox';
import { type WebhookEventType, webhookEventTypes } from '#rules/webhook-events.js';
import { allOf, Count, Flag, listOf, nullable, optional, parameter, Text, textOf, Time, view } from './shapes.js';
import { deliveryStates, endpointStates } from './words.js';

const EventType = Type.Enum(webhookEventTypes as WebhookEventType[]);

export const WebhookEndpoint = view('WebhookEndpoint', {
  id: Text,
  url: Type.String({ description: 'Members who may not change the endpoint see only the host.' }),
  description: Text,
  event_types: Type.Array(EventType),
  state: Type.Enum(endpointStates, {
    description: '`failed`: disabled by Tollgate, because every attempt failed for three days, or it answered 410 (Gone).',
  }),
  failing_since: nullable(Time, 'Null: the last attempt succeeded, or there has been none.'),
  previous_secret_expires_at: nullable(Time, 'Until this time, requests are also signed with the previous secret.'),
  created_at: nullable(Time),
  updated_at: nullable(Time),
});
export type WebhookEndpoint = Static<typeof WebhookEndpoint>;
export const WebhookEndpoints = allOf(WebhookEndpoint);

const secret = Type.String({ description: 'The signing secret.' });
export const WebhookSecret = Type.Object({ endpoint: WebhookEndpoint, secret });
export type WebhookSecret = Static<typeof WebhookSecret>;

const settings = {
  url: textOf(1, 4096),
  description: optional(textOf(0, 200)),
  event_types: Type.Array(EventType, { minItems: 1 }),
};
export const CreateWebhook = Type.Object(settings);
export type CreateWebhook = Static<typeof CreateWebhook>;
export const ReplaceWebhook = Type.Object({ ...settings, enabled: Type.Boolean() });
/** Absent fields are unchanged. */
export const UpdateWebhook = Type.Partial(ReplaceWebhook);
export type UpdateWebhook = Static<typeof UpdateWebhook>;
export const RotateWebhook = Type.Object({
  overlap_seconds: optional(
    Type.Integer({
      minimum: 0,
      maximum: 604_800,
      description: 'How long requests are also signed with the previous secret; a day if absent.',
    }),
  ),
});
export type RotateWebhook = Static<typeof RotateWebhook>;
export const TestWebhook = Type.Object({ event_type: EventType });

/** One event to one endpoint. */
export const WebhookDelivery = view('WebhookDelivery', {
  id: Text,
  endpoint_id: Text,
  url: Text,
  event_id: Text,
  event_type: EventType,
  test: Flag,
  body: Type.String({ description: 'The body of the request.' }),
  state: Type.Enum(deliveryStates),
  attempts: Count,
  outcome: Type.String({
    description: 'The result of the last attempt: the status and the beginning of the answer, or why the address was not reached.',
  }),
  created_at: nullable(Time),
  next_attempt_at: nullable(Time),
  ended_at: nullable(Time),
});
export type WebhookDelivery = Static<typeof WebhookDelivery>;
export const WebhookDeliveryList = listOf(WebhookDelivery);
export const WebhookDeliveryQuery = Type.Object({ endpoint: parameter('Only deliveries to this endpoint.') });
