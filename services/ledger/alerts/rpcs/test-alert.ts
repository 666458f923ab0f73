// TestAlert: sends a test to every mail address and waits for the results.
import { type CallContext, callContext } from '#client/call-context.js';
import { fault } from '#client/errors/fault.js';
import { hourMs } from '#kit/clock.js';
import type { TestAlertRequest, TestAlertResponse } from '#proto/ledger/v1/alerts.js';
import { checkedId } from '../../requests/fields.js';
import type { AlertDeps } from '../deps.js';
import { lowBalanceMessage, mailsTo } from '../entries.js';
import { type AlertRecord, countMessages, messagesPerHourMax } from '../model.js';
import { moneyOf } from '../render.js';

/** Longer than an attempt can take. */
const deliveryTimeoutMs = 30_000;

/** Raises invalid_request, failed_precondition (no address), overloaded (too many mails within an hour) and service_unavailable. */
export async function testAlert(request: TestAlertRequest, context: CallContext, deps: AlertDeps): Promise<TestAlertResponse> {
  const { alerts, auditLog, notifications, outbox, publicUrl, reads, clock } = deps;
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const nowMs = clock.nowMs();
  const money = moneyOf(accountId, await reads.account(accountId));
  const testsOf = (alert: AlertRecord) =>
    mailsTo(alert, lowBalanceMessage(alert, { money, isTest: true, nowMs, publicUrl, newEntryId: outbox.newId }));
  const count = (alert: AlertRecord | undefined): AlertRecord => {
    const tests = alert?.emails.length ?? 0;
    if (alert === undefined || tests === 0) throw fault('no_alert_destination', {});
    const counts = countMessages(alert, tests, nowMs);
    if (counts === undefined) throw fault('alerts_per_hour', { max: messagesPerHourMax }, { retryAfterMs: hourMs });
    return { ...alert, ...counts, version: alert.version + 1 };
  };
  const alert = await alerts.put(accountId, count, (tx) =>
    auditLog.append(tx, context, { action: 'alert.test', accountId, targetId: accountId }),
  );
  // Not through the outbox: a test that cannot be sent now fails.
  return notifications.appendNotifications(
    { entries: testsOf(alert), wait: true },
    callContext({ caller: 'ledger', timeoutMs: deliveryTimeoutMs, signal: context.signal }),
  );
}
