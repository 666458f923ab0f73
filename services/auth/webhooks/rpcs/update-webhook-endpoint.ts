// UpdateWebhookEndpoint: changes settings of an endpoint.
import { changedFields } from '#kit/audit/audit-event.js';
import { checkedUpdateMask } from '#kit/rpc/update-mask.js';
import type { CallContext } from '#client/call-context.js';
import {
  type UpdateWebhookEndpointRequest,
  type UpdateWebhookEndpointResponse,
  type WebhookEndpoint,
  WebhookEndpointState,
} from '#proto/auth/v1/webhooks.js';
import { mailLanguage } from '#rules/mail-language.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { accountIdBytes, endpointIdBytes } from '../../requests/fields.js';
import type { WebhookDeps } from '../deps.js';
import { checkedDescription, checkedEventTypes, checkedUrl } from '../fields.js';

const { WEBHOOK_ENDPOINT_STATE_ENABLED: enabled, WEBHOOK_ENDPOINT_STATE_DISABLED: disabled } = WebhookEndpointState;

const fields = ['url', 'description', 'event_types', 'enabled', 'language'] as const;

/** Changes the fields of the mask, or all. Raises invalid_request and not_found. */
export async function updateWebhookEndpoint(
  request: UpdateWebhookEndpointRequest,
  context: CallContext,
  { db, endpoints, notifications, audit, config, clock }: WebhookDeps,
): Promise<UpdateWebhookEndpointResponse> {
  const { accountId } = request;
  accountIdBytes(accountId);
  const id = endpointIdBytes(request.endpointId);
  const mask = request.updateMask === undefined ? new Set(fields) : checkedUpdateMask(request.updateMask, fields);
  const settings: Partial<WebhookEndpoint> = {};
  if (mask.has('url')) settings.url = checkedUrl(request.url, config.privateWebhooks);
  if (mask.has('description')) settings.description = checkedDescription(request.description);
  if (mask.has('event_types')) settings.eventTypes = checkedEventTypes(request.eventTypes);
  if (mask.has('language')) settings.language = mailLanguage(request.language);
  const nowMs = clock.nowMs();
  const endpoint = await db.transaction(async (tx) => {
    const before = await endpoints.locked(tx, accountId, id);
    const state = mask.has('enabled') ? stateAfter(before.state, request.enabled) : before.state;
    const after = { ...before, ...settings, state, updatedAtMs: BigInt(nowMs) };
    // Failures at another address, or before the endpoint was disabled, say nothing about its present state.
    if ((state === enabled && before.state !== enabled) || after.url !== before.url) after.failingSinceMs = 0n;
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

/** Returns the state of an endpoint that a user enables or disables. One that failed stays so until it is enabled. */
function stateAfter(before: WebhookEndpointState, isEnabled: boolean): WebhookEndpointState {
  if (isEnabled) return enabled;
  return before === enabled ? disabled : before;
}

function detailOf({ url, description, eventTypes, state, language }: WebhookEndpoint): object {
  return { url, description, event_types: eventTypes, enabled: state === enabled, language };
}
