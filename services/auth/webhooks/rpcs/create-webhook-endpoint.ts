// CreateWebhookEndpoint: adds an endpoint to an account.
import type { CallContext } from '#client/call-context.js';
import { newId } from '#kit/id.js';
import {
  type CreateWebhookEndpointRequest,
  type CreateWebhookEndpointResponse,
  WebhookEndpoint,
  WebhookEndpointState,
} from '#proto/auth/v1/webhooks.js';
import { mailLanguage } from '#rules/mail-language.js';
import { newSigningSecret } from '../../notifications/signature.js';
import { accountIdBytes } from '../../requests/fields.js';
import type { WebhookDeps } from '../deps.js';
import { checkedSettings } from '../fields.js';

/** Raises invalid_request, not_found (the account) and failed_precondition (too many endpoints). */
export async function createWebhookEndpoint(
  request: CreateWebhookEndpointRequest,
  context: CallContext,
  { db, endpoints, audit, config, clock }: WebhookDeps,
): Promise<CreateWebhookEndpointResponse> {
  const { accountId } = request;
  accountIdBytes(accountId);
  const nowMs = clock.nowMs();
  const endpoint = WebhookEndpoint.fromPartial({
    id: newId('whe', nowMs),
    accountId,
    ...checkedSettings(request, config.privateWebhooks),
    state: WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_ENABLED,
    language: mailLanguage(request.language),
    createdAtMs: BigInt(nowMs),
    updatedAtMs: BigInt(nowMs),
  });
  const secret = newSigningSecret();
  await db.transaction(async (tx) => {
    await endpoints.add(tx, endpoint, secret);
    // The path of an address is often its secret.
    const detail = { url: new URL(endpoint.url).origin, event_types: endpoint.eventTypes };
    await audit.append(tx, context, { action: 'webhook.create', accountId, targetId: endpoint.id, detail });
  });
  return { endpoint, secret };
}
