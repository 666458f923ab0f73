// WebhookService: its RPCs, bound to their dependencies.
import { bindRpcs } from '#kit/rpc/bind-rpcs.js';
import type { WebhookService } from '#proto/auth/v1/webhooks.js';
import type { WebhookDeps } from './deps.js';
import { createWebhookEndpoint } from './rpcs/create-webhook-endpoint.js';
import { deleteWebhookEndpoint } from './rpcs/delete-webhook-endpoint.js';
import { listWebhookEndpoints } from './rpcs/list-webhook-endpoints.js';
import { resendWebhookDelivery } from './rpcs/resend-webhook-delivery.js';
import { rotateWebhookSecret } from './rpcs/rotate-webhook-secret.js';
import { sendTestEvent } from './rpcs/send-test-event.js';
import { updateWebhookEndpoint } from './rpcs/update-webhook-endpoint.js';

/** Returns the implementation of the contract over these dependencies. */
export function webhookService(deps: WebhookDeps): WebhookService {
  return bindRpcs<WebhookService, WebhookDeps>(
    {
      listWebhookEndpoints,
      createWebhookEndpoint,
      updateWebhookEndpoint,
      deleteWebhookEndpoint,
      rotateWebhookSecret,
      sendTestEvent,
      resendWebhookDelivery,
    },
    deps,
  );
}
