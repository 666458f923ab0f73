// The low-balance alert of an account.
import { fieldFault } from '#client/errors/fault.js';
import { NotificationChannel } from '#proto/auth/v1/notifications.js';
import { amountNanoUsdMax } from '#rules/money/money.js';
import { renderAlert, renderAlertNow, renderDelivery } from '../render/alerts.js';
import { nanoUsdOf, orNull } from '../render/values.js';
import { Alert, AlertNow, DeliveryList, PutAlert, TestDeliveries } from '../schemas/alerts.js';
import { languageOf } from '../session/session.js';
import { type Area, ok, operation } from '../table/operation.js';

/** The user waits for the mail server, which may be slow. */
const testTimeoutMs = 30_000;

export const alerts: Area = {
  title: 'Alerts',
  description: 'Who is notified when the balance is low.',
  operations: [
    operation('GET', '/accounts/{account}/alerts', {
      summary: 'Show the alert and the balance that it watches.',
      who: 'look',
      answers: [ok(AlertNow)],
      handle: async ({ accountId, context }, { peers }) => {
        const [alert, { mailConfigured }] = await Promise.all([
          peers.alerts.getAlert({ accountId }, context()),
          peers.notifications.getDeliveryStatus({}, context()),
        ]);
        return renderAlertNow(alert, mailConfigured);
      },
    }),
    operation('PUT', '/accounts/{account}/alerts', {
      summary:
        'Replace the alert; absent fields are off or empty. Its emails are in the language of the request (`accept-language`): English or Chinese.',
      who: 'change money',
      body: PutAlert,
      answers: [ok(Alert)],
      handle: async ({ ctx, accountId, body, context }, deps) => {
        const thresholdNanoUsd = nanoUsdOf('threshold_usd', body.threshold_usd, amountNanoUsdMax);
        if (thresholdNanoUsd <= 0n) throw fieldFault('threshold_usd', 'positive');
        const { alert } = await deps.peers.alerts.putAlert(
          { accountId, enabled: body.enabled, thresholdNanoUsd, emails: body.emails ?? [], language: languageOf(ctx) },
          context(),
        );
        return renderAlert(alert!);
      },
    }),
    operation('POST', '/accounts/{account}/alerts/test', {
      summary: 'Send a test to all addresses now.',
      who: 'change money',
      answers: [ok(TestDeliveries, 'The results.')],
      handle: async ({ accountId, context }, deps) => {
        const { notifications } = await deps.peers.alerts.testAlert({ accountId }, context({ ms: testTimeoutMs }));
        return { data: notifications.map(renderDelivery) };
      },
    }),
    operation('GET', '/accounts/{account}/alerts/deliveries', {
      summary: 'List the emails, newest first.',
      who: 'look',
      paged: true,
      answers: [ok(DeliveryList)],
      handle: async ({ accountId, page, context }, { peers }) => {
        const channel = NotificationChannel.NOTIFICATION_CHANNEL_MAIL;
        const request = { accountId, ...page, channel, endpointId: '' };
        const { notifications, nextPageToken } = await peers.notifications.listNotifications(request, context());
        return { data: notifications.map(renderDelivery), next: orNull(nextPageToken) };
      },
    }),
  ],
};
