// The low-balance alert of an account.
import { fieldFault } from '#client/errors/fault.js';
import type { Role } from '#proto/auth/v1/users.js';
import { parseUsd } from '#rules/money.js';
import { permissionsOf } from '../session/access.js';
import { renderAlert, renderAlertNow, renderDelivery } from '../render/alerts.js';
import { orNull } from '../render/values.js';
import { AlertNow, AlertSaved, DeliveryList, PutAlert, TestDeliveries } from '../schemas/alerts.js';
import { type Area, ok, operation } from '../table/operation.js';

/** The user waits for the mail server, which may be slow. */
const testTimeoutMs = 30_000;

export const alerts: Area = {
  title: 'Alerts',
  description: 'Who is notified when the balance is low.',
  operations: [
    operation({
      method: 'GET',
      path: '/accounts/{account}/alerts',
      summary: 'Show the alert and the balance that it watches.',
      who: 'look',
      answers: [ok(AlertNow)],
      handle: async ({ accountId, role, context }, { peers }) => {
        const [alert, { mailConfigured }] = await Promise.all([
          peers.alerts.getAlert({ accountId }, context()),
          peers.notifications.getDeliveryStatus({}, context()),
        ]);
        return renderAlertNow(alert, { isWhole: mayChange(role), mailConfigured });
      },
    }),
    operation({
      method: 'PUT',
      path: '/accounts/{account}/alerts',
      summary: 'Replace the alert; absent fields are off or empty.',
      who: 'change money',
      body: PutAlert,
      answers: [ok(AlertSaved, 'The answer that creates the webhook’s secret is the only one that contains it.')],
      handle: async ({ accountId, body, context }, deps) => {
        const thresholdNanoUsd = parseUsd(body.threshold_usd)!;
        if (thresholdNanoUsd <= 0n) throw fieldFault('threshold_usd', 'positive');
        const { alert, webhookSecret } = await deps.peers.alerts.putAlert(
          {
            accountId,
            enabled: body.enabled,
            thresholdNanoUsd,
            emails: body.emails ?? [],
            webhookUrl: body.webhook_url ?? '',
            rotateWebhookSecret: body.rotate_webhook_secret ?? false,
          },
          context(),
        );
        const shown = renderAlert(alert!);
        return { alert: shown, webhook_secret: orNull(webhookSecret) };
      },
    }),
    operation({
      method: 'POST',
      path: '/accounts/{account}/alerts/test',
      summary: 'Send a test to all destinations now.',
      who: 'change money',
      answers: [ok(TestDeliveries, 'The results.')],
      handle: async ({ accountId, context }, deps) => {
        const { notifications } = await deps.peers.alerts.testAlert({ accountId }, context({ ms: testTimeoutMs }));
        return { data: notifications.map((delivery) => renderDelivery(delivery, true)) };
      },
    }),
    operation({
      method: 'GET',
      path: '/accounts/{account}/alerts/deliveries',
      summary: 'List the deliveries, newest first.',
      who: 'look',
      paged: true,
      answers: [ok(DeliveryList)],
      handle: async ({ accountId, role, page, context }, { peers }) => {
        const { notifications, nextPageToken } = await peers.notifications.listNotifications({ accountId, ...page }, context());
        return { data: notifications.map((delivery) => renderDelivery(delivery, mayChange(role))), next: orNull(nextPageToken) };
      },
    }),
  ],
};

function mayChange(role: Role): boolean {
  return permissionsOf(role).includes('change money');
}
