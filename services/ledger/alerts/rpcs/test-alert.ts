// TestAlert: sends a test to every destination and waits for the results.
import type { CallContext } from '#client/call-context.js';
import { fault } from '#client/errors/fault.js';
import type { TestAlertRequest, TestAlertResponse } from '#proto/ledger/v1/alerts.js';
import { checkedId } from '../../requests/fields.js';
import type { AlertDeps } from '../deps.js';
import { messagesOf } from '../messages-of.js';
import { type AlertRecord, type Delivery, hourMs, messagesPerHourMax } from '../model.js';
import { moneyOf, toDeliveryMessage } from '../render.js';
import { claimMs, tryDelivery } from '../try-delivery.js';

/** Raises invalid_request, failed_precondition (no destination) and overloaded (too many messages within an hour). */
export async function testAlert(request: TestAlertRequest, context: CallContext, deps: AlertDeps): Promise<TestAlertResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const alert = await deps.alerts.find(accountId);
  if (alert === undefined || (alert.emails.length === 0 && alert.webhookUrl === '')) {
    throw fault('no_alert_destination', {});
  }
  const tests = await begun(alert, context, deps);
  const ended = await Promise.all(tests.map((test) => sent(test, deps)));
  return { deliveries: ended.map(toDeliveryMessage) };
}

/** Stores the messages as if a first attempt were in progress, so that no delivery worker claims them meanwhile. */
async function begun(alert: AlertRecord, context: CallContext, { auditLog, deliveries, reads, clock }: AlertDeps): Promise<Delivery[]> {
  const { accountId } = alert;
  const nowMs = clock.nowMs();
  const tests = messagesOf(alert, {
    money: moneyOf(accountId, await reads.account(accountId)),
    isTest: true,
    nowMs,
    dueAtMs: nowMs + claimMs,
  }).map((test) => ({ ...test, attempts: 1 }));
  if ((await deliveries.countSince(accountId, nowMs - hourMs)) + tests.length > messagesPerHourMax) {
    throw fault('alerts_per_hour', { max: messagesPerHourMax }, { retryAfterMs: hourMs });
  }
  await deliveries.add(tests, (tx) => auditLog.append(tx, context, { action: 'alert.test', accountId, targetId: accountId }));
  return tests;
}

async function sent(test: Delivery, deps: AlertDeps): Promise<Delivery> {
  const outcome = await tryDelivery(test, deps);
  await deps.deliveries.note(test, outcome);
  return { ...test, ...outcome };
}
