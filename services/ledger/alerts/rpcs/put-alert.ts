// PutAlert: replaces an account's alert.
import { fieldFault } from '#client/errors/fault.js';
import { randomBytes } from 'node:crypto';
import { type CallContext, callContext } from '#client/call-context.js';
import type { PutAlertRequest, PutAlertResponse } from '#proto/ledger/v1/alerts.js';
import { formatUsd } from '#rules/money.js';
import { checkedAmount, checkedId } from '../../requests/fields.js';
import type { AlertDeps } from '../deps.js';
import { destinationsOf } from '../entries.js';
import { checkedEmails, checkedWebhookUrl } from '../fields.js';
import type { AlertRecord } from '../model.js';
import { toAlertMessage } from '../render.js';
import { sealPurpose } from '../notification-outbox.js';

const statusTimeoutMs = 5000;

/** Raises invalid_request, and service_unavailable if a webhook cannot be checked because auth is unavailable. */
export async function putAlert(
  request: PutAlertRequest,
  context: CallContext,
  { alerts, auditLog, outbox, notifications, box, clock }: AlertDeps,
): Promise<PutAlertResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const mayBePrivate = async (): Promise<boolean> =>
    (await notifications.getDeliveryStatus({}, callContext({ caller: 'ledger', timeoutMs: statusTimeoutMs }))).privateWebhooks;
  const { enabled } = request;
  const thresholdNanoUsd = checkedAmount('threshold_nano_usd', request.thresholdNanoUsd, 1n);
  const emails = checkedEmails(request.emails);
  const webhookUrl = checkedWebhookUrl(request.webhookUrl, request.webhookUrl !== '' && (await mayBePrivate()));
  if (request.rotateWebhookSecret && webhookUrl === '') throw fieldFault('rotate_webhook_secret', 'not_without_webhook');
  let webhookSecret = '';
  const change = (present: AlertRecord | undefined): AlertRecord => {
    const isSecretNew = webhookUrl !== '' && (request.rotateWebhookSecret || present?.sealedSecret === undefined);
    webhookSecret = isSecretNew ? `whsec_${randomBytes(32).toString('base64url')}` : '';
    const sealedSecret = isSecretNew ? box.seal(webhookSecret, sealPurpose(accountId)) : present?.sealedSecret;
    // A new threshold starts over: the user wants to be notified of it, whatever was sent for the previous one.
    const isRearmed = present === undefined || present.thresholdNanoUsd !== thresholdNanoUsd || (enabled && !present.enabled);
    return {
      accountId,
      enabled,
      thresholdNanoUsd,
      emails,
      webhookUrl,
      // After a webhook is removed, its old secret must not sign anything.
      sealedSecret: webhookUrl === '' ? undefined : sealedSecret,
      fired: isRearmed ? false : present.fired,
      firedAtMs: present?.firedAtMs ?? 0,
      hourBeganMs: present?.hourBeganMs ?? 0,
      hourMessages: present?.hourMessages ?? 0,
      version: (present?.version ?? 0) + 1,
      updatedAtMs: clock.nowMs(),
    };
  };
  const detail = {
    enabled,
    threshold_usd: formatUsd(thresholdNanoUsd),
    emails,
    // The path of a webhook is often its secret.
    webhook: webhookUrl === '' ? null : new URL(webhookUrl).origin,
  };
  const alert = await alerts.put(accountId, change, async (tx, _before, after) => {
    await outbox.add(tx, [destinationsOf(after, outbox.newId(clock.nowMs()), webhookSecret === '' ? '' : after.sealedSecret!)]);
    await auditLog.append(tx, context, {
      action: 'alert.put',
      accountId,
      targetId: accountId,
      detail: { ...detail, webhook_secret: webhookSecret === '' ? 'kept' : 'new' },
    });
  });
  return { alert: toAlertMessage(accountId, alert), webhookSecret };
}
