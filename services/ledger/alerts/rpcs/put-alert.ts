// PutAlert: replaces an account's alert.
import type { CallContext } from '#client/call-context.js';
import type { PutAlertRequest, PutAlertResponse } from '#proto/ledger/v1/alerts.js';
import { mailLanguage } from '#rules/mail-language.js';
import { formatUsd } from '#rules/money/money.js';
import { checkedAmount, checkedId } from '../../requests/fields.js';
import type { AlertDeps } from '../deps.js';
import { destinationsOf } from '../entries.js';
import { checkedEmails } from '../fields.js';
import type { AlertRecord } from '../model.js';
import { toAlertMessage } from '../render.js';

/** Raises invalid_request. */
export async function putAlert(
  request: PutAlertRequest,
  context: CallContext,
  { alerts, auditLog, outbox, clock }: AlertDeps,
): Promise<PutAlertResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const { enabled } = request;
  const thresholdNanoUsd = checkedAmount('threshold_nano_usd', request.thresholdNanoUsd, 1n);
  const emails = checkedEmails(request.emails);
  const change = (present: AlertRecord | undefined): AlertRecord => {
    // A new threshold starts over: the user wants to be notified of it, whatever was sent for the previous one.
    const isRearmed = present === undefined || present.thresholdNanoUsd !== thresholdNanoUsd || (enabled && !present.enabled);
    return {
      accountId,
      enabled,
      thresholdNanoUsd,
      emails,
      language: mailLanguage(request.language),
      fired: isRearmed ? false : present.fired,
      firedAtMs: present?.firedAtMs ?? 0,
      hourBeganMs: present?.hourBeganMs ?? 0,
      hourMessages: present?.hourMessages ?? 0,
      version: (present?.version ?? 0) + 1,
      updatedAtMs: clock.nowMs(),
    };
  };
  const detail = { enabled, threshold_usd: formatUsd(thresholdNanoUsd), emails };
  const alert = await alerts.put(accountId, change, async (tx, _before, after) => {
    await outbox.add(tx, [destinationsOf(after, outbox.newId(clock.nowMs()))]);
    await auditLog.append(tx, context, { action: 'alert.put', accountId, targetId: accountId, detail });
  });
  return { alert: toAlertMessage(accountId, alert) };
}
