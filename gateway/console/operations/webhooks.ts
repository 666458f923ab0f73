// The webhook endpoints of an account, and the log of what was sent to them.
import { NotificationChannel } from '#proto/auth/v1/notifications.js';
import { orNull } from '../render/values.js';
import { renderEndpoint, renderWebhookDelivery } from '../render/webhooks.js';
import {
  CreateWebhook,
  ReplaceWebhook,
  RotateWebhook,
  TestWebhook,
  UpdateWebhook,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookDeliveryQuery,
  WebhookEndpoint,
  WebhookEndpoints,
  WebhookSecret,
} from '../schemas/webhooks.js';
import { permissionsOf } from '../session/access.js';
import { languageOf } from '../session/session.js';
import { type Area, type Call, created, done, ok, operation } from '../table/operation.js';
import { updateMaskOf } from '../table/update-mask.js';

const secretOnce = 'This is the only answer that contains the secret.';
const overlapSeconds = 86_400;
/** The user waits for the receiver, which may be slow. */
const attemptTimeoutMs = 15_000;

export const webhooks: Area = {
  title: 'Webhooks',
  description: 'The endpoints that receive the events of an account.',
  operations: [
    operation('GET', '/accounts/{account}/webhooks', {
      summary: 'List the endpoints.',
      who: 'look',
      scope: 'webhooks:read',
      answers: [ok(WebhookEndpoints)],
      handle: async (call, { peers }) => {
        const { accountId, context } = call;
        const { endpoints } = await peers.webhooks.listWebhookEndpoints({ accountId }, context());
        return { data: endpoints.map((endpoint) => renderEndpoint(endpoint, mayChange(call))) };
      },
    }),
    operation('POST', '/accounts/{account}/webhooks', {
      summary: 'Add an endpoint. Emails about it are in the language of the request (`accept-language`): English or Chinese.',
      who: 'change keys',
      scope: 'webhooks:write',
      body: CreateWebhook,
      answers: [created(WebhookSecret, secretOnce)],
      errors: { failed_precondition: 'The account has 10 endpoints.' },
      handle: async ({ ctx, accountId, body, context }, { peers }) => {
        const { url, description, event_types: eventTypes } = body;
        const request = { accountId, url, description: description ?? '', eventTypes, language: languageOf(ctx) };
        const { endpoint, secret } = await peers.webhooks.createWebhookEndpoint(request, context());
        return { endpoint: renderEndpoint(endpoint!), secret };
      },
    }),
    operation('PUT', '/accounts/{account}/webhooks/{endpoint}', {
      summary: 'Replace the settings of an endpoint. Disabling it withdraws its pending deliveries.',
      who: 'change keys',
      scope: 'webhooks:write',
      body: ReplaceWebhook,
      answers: [ok(WebhookEndpoint)],
      handle: async ({ ctx, accountId, params, body, context }, { peers }) => {
        const { url, description, event_types: eventTypes, enabled } = body;
        const settings = { url, description: description ?? '', eventTypes, enabled, language: languageOf(ctx) };
        const request = { accountId, endpointId: params.endpoint, ...settings };
        const { endpoint } = await peers.webhooks.updateWebhookEndpoint(request, context());
        return renderEndpoint(endpoint!);
      },
    }),
    operation('PATCH', '/accounts/{account}/webhooks/{endpoint}', {
      summary: 'Change an endpoint: absent fields are unchanged. Disabling it withdraws its pending deliveries.',
      who: 'change keys',
      scope: 'webhooks:write',
      body: UpdateWebhook,
      answers: [ok(WebhookEndpoint)],
      handle: async ({ ctx, accountId, params, body, context }, { peers }) => {
        const { url = '', description, event_types: eventTypes = [], enabled = false } = body;
        const settings = { url, description: description ?? '', eventTypes, enabled, language: languageOf(ctx) };
        const request = { accountId, endpointId: params.endpoint, ...settings, updateMask: [...updateMaskOf(body), 'language'] };
        const { endpoint } = await peers.webhooks.updateWebhookEndpoint(request, context());
        return renderEndpoint(endpoint!);
      },
    }),
    operation('DELETE', '/accounts/{account}/webhooks/{endpoint}', {
      summary: 'Delete an endpoint. Its pending deliveries are withdrawn.',
      who: 'change keys',
      scope: 'webhooks:write',
      answers: [done()],
      handle: async ({ accountId, params, context }, { peers }) => {
        await peers.webhooks.deleteWebhookEndpoint({ accountId, endpointId: params.endpoint }, context());
      },
    }),
    operation('POST', '/accounts/{account}/webhooks/{endpoint}/secret', {
      summary: 'Create a new signing secret.',
      who: 'change keys',
      scope: 'webhooks:write',
      body: RotateWebhook,
      answers: [created(WebhookSecret, secretOnce)],
      handle: async ({ accountId, params, body, context }, { peers }) => {
        const { endpoint, secret } = await peers.webhooks.rotateWebhookSecret(
          { accountId, endpointId: params.endpoint, overlapSeconds: body.overlap_seconds ?? overlapSeconds },
          context(),
        );
        return { endpoint: renderEndpoint(endpoint!), secret };
      },
    }),
    operation('POST', '/accounts/{account}/webhooks/{endpoint}/test', {
      summary: 'Send an example event now, without retries.',
      who: 'change keys',
      scope: 'webhooks:write',
      body: TestWebhook,
      answers: [ok(WebhookDelivery, 'The result.')],
      handle: async ({ accountId, params, body, context }, { peers }) => {
        const { delivery } = await peers.webhooks.sendTestEvent(
          { accountId, endpointId: params.endpoint, eventType: body.event_type },
          context({ ms: attemptTimeoutMs }),
        );
        return renderWebhookDelivery(delivery!);
      },
    }),
    operation('GET', '/accounts/{account}/webhook-deliveries', {
      summary: 'List the deliveries of the last 90 days, newest first.',
      who: 'look',
      scope: 'webhooks:read',
      query: WebhookDeliveryQuery,
      paged: true,
      answers: [ok(WebhookDeliveryList)],
      handle: async (call, { peers }) => {
        const { accountId, query, page, context } = call;
        const channel = NotificationChannel.NOTIFICATION_CHANNEL_WEBHOOK;
        const { notifications, nextPageToken } = await peers.notifications.listNotifications(
          { accountId, ...page, channel, endpointId: query.endpoint ?? '' },
          context(),
        );
        return { data: notifications.map((delivery) => renderWebhookDelivery(delivery, mayChange(call))), next: orNull(nextPageToken) };
      },
    }),
    operation('POST', '/accounts/{account}/webhook-deliveries/{delivery}/resend', {
      summary: 'Resend an event now. It keeps its id.',
      who: 'change keys',
      scope: 'webhooks:write',
      answers: [ok(WebhookDelivery, 'The result.')],
      errors: { failed_precondition: 'The endpoint is disabled.' },
      handle: async ({ accountId, params, context }, { peers }) => {
        const { delivery } = await peers.webhooks.resendWebhookDelivery(
          { accountId, deliveryId: params.delivery },
          context({ ms: attemptTimeoutMs }),
        );
        return renderWebhookDelivery(delivery!);
      },
    }),
  ],
};

/** Whether the whole address of an endpoint is shown, which may contain a secret. */
function mayChange({ role, visitor: { managementKey } }: Pick<Call, 'role' | 'visitor'>): boolean {
  const hasScope = managementKey === undefined || managementKey.scopes.includes('webhooks:write');
  return hasScope && permissionsOf(role).includes('change keys');
}
