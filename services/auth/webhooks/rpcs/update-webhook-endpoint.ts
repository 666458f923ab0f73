// UpdateWebhookEndpoint: replaces the settings of an endpoint.
import { changedFields } from '#kit/audit/audit-event.js';
import type { CallContext } from '#client/call-context.js';
import {
  type UpdateWebhookEndpointRequest,
  type UpdateWebhookEndpointResponse,
  type WebhookEndpoint,
  WebhookEndpointState,
} from '#proto/auth/v1/webhooks.js';
import { mailLanguage } from '#rules/mail-language.js';
import { finding } from '#rules/finding-sentences.js';
import { accountIdBytes, endpointIdBytes } from '../../requests/fields.js';
import type { WebhookDeps } from '../deps.js';
import { checkedSettings } from '../fields.js';

const { WEBHOOK_ENDPOINT_STATE_ENABLED: enabled, WEBHOOK_ENDPOINT_STATE_DISABLED: disabled } = WebhookEndpointState;

/** Raises invalid_request and not_found. */
export async function updateWebhookEndpoint(
  request: UpdateWebhookEndpointRequest,
  context: CallContext,
  { db, endpoints, notifications, audit, config, clock }: WebhookDeps,
): Promise<UpdateWebhookEndpointResponse> {
  const { accountId } = request;
  accountIdBytes(accountId);
  const id = endpointIdBytes(request.endpointId);
  const settings = checkedSettings(request, config.privateWebhooks);
  const nowMs = clock.nowMs();
  const endpoint = await db.transaction(async (tx) => {
    const before = await endpoints.locked(tx, accountId, id);
    // What failed at another address, or before the endpoint was disabled, says nothing about it now.
    const isRestarted = (request.enabled && before.state !== enabled) || settings.url !== before.url;
    // An endpoint that failed stays so until it is enabled.
    const state = request.enabled ? enabled : before.state === enabled ? disabled : before.state;
    const after = {
      ...before,
      ...settings,
      state,
      failingSinceMs: isRestarted ? 0n : before.failingSinceMs,
      language: mailLanguage(request.language),
      updatedAtMs: BigInt(nowMs),
    };
    const changed = changedFields(detailOf(before), detailOf(after));
    if (changed === undefined) return before;
    await endpoints.update(tx, after);
    if (state !== enabled) await notifications.withdrawFrom(tx, after.id, { outcome: finding('endpoint_disabled', {}), dueAtMs: nowMs });
    else if (after.url !== before.url) await notifications.redirect(tx, after.id, after.url);
    const detail = { changed: Object.keys(changed.after), ...detailOf(after), url: new URL(after.url).origin };
    await audit.append(tx, context, { action: 'webhook.update', accountId, targetId: after.id, detail });
    return after;
  });
  return { endpoint };
}

function detailOf({ url, description, eventTypes, state, language }: WebhookEndpoint): object {
  return { url, description, event_types: eventTypes, enabled: state === enabled, language };
}
