// tollgate alert: the low-balance alert of an account, and its deliveries.
import { Command } from 'commander';
import { NotificationState } from '#proto/auth/v1/notifications.js';
import { chooseAccount, withAccount } from '../accounts.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parsePositiveAmount } from '../parse.js';
import { type AlertNow, alertView, deliveryView } from '../views/alert.js';

// A mail server may be slow.
const testTimeoutMs = 40_000;

interface AccountOption {
  readonly account?: string;
}

interface SetOptions extends AccountOption {
  readonly email?: string[];
  readonly webhook?: string;
  readonly newSecret?: boolean;
  readonly off?: boolean;
}

/** The noun `alert`. */
export function alertCommand(cli: Cli): Command {
  const alert = new Command('alert').description('The low-balance alert of an account: by mail and by webhook.');

  withAccount(alert.command('get'))
    .description('Show the alert, and whether the balance is below its threshold.')
    .action((options: AccountOption) =>
      cli.withServices(async (services) => {
        cli.out.show(alertView, await readAlert(services, await chooseAccount(services.auth, options.account)));
      }),
    );

  withAccount(alert.command('set'))
    .description('Replace the alert: destinations that are not named are removed.')
    .argument(
      '<usd>',
      'the threshold: it fires once when the settled balance falls below it, and again only after the balance has clearly risen',
      parsePositiveAmount,
    )
    .option('--email <address...>', 'the recipients of the mail')
    .option('--webhook <url>', 'the URL for the signed webhook request')
    .option('--new-secret', 'replace the signing secret')
    .option('--off', 'keep the alert, but turn it off')
    .action((thresholdNanoUsd: bigint, options: SetOptions) =>
      cli.withServices(async (services) => {
        const accountId = await chooseAccount(services.auth, options.account);
        const { email: emails = [], webhook: webhookUrl = '', newSecret: rotateWebhookSecret = false, off = false } = options;
        const { webhookSecret } = await services.alerts.putAlert(
          { accountId, enabled: !off, thresholdNanoUsd, emails, webhookUrl, rotateWebhookSecret },
          operatorCall(),
        );
        cli.out.show(alertView, await readAlert(services, accountId), webhookSecret === '' ? {} : { webhook_secret: webhookSecret });
        if (webhookSecret !== '')
          cli.out.note(`\nWebhook requests are signed with this secret, which is not shown again:\n${webhookSecret}`);
      }),
    );

  withAccount(alert.command('test'))
    .description('Send a test to every destination and wait for the results. Exit code 1 when any delivery fails.')
    .action((options: AccountOption) =>
      cli.withServices(async ({ auth, alerts }) => {
        const { notifications } = await alerts.testAlert(
          { accountId: await chooseAccount(auth, options.account) },
          operatorCall(testTimeoutMs),
        );
        cli.out.list(deliveryView, notifications);
        const failed = notifications.filter(({ state }) => state !== NotificationState.NOTIFICATION_STATE_DELIVERED);
        if (failed.length > 0)
          throw new CliError(`${failed.length} of ${notifications.length} deliveries failed.`, { fix: 'See the outcome of each above.' });
      }),
    );

  withPaging(withAccount(alert.command('deliveries')))
    .description('List deliveries and their outcomes, newest first.')
    .action((options: AccountOption & PageOptions) =>
      cli.withServices(async ({ auth, notifications }) => {
        const accountId = await chooseAccount(auth, options.account);
        await listPages(cli, deliveryView, options, async (pageSize, pageToken) => {
          const response = await notifications.listNotifications({ accountId, pageSize, pageToken }, operatorCall());
          return { items: response.notifications, nextPageToken: response.nextPageToken };
        });
      }),
    );

  return alert;
}

async function readAlert({ alerts, notifications }: Services, accountId: string): Promise<AlertNow> {
  const { mailConfigured } = await notifications.getDeliveryStatus({}, operatorCall());
  return { ...(await alerts.getAlert({ accountId }, operatorCall())), mailConfigured };
}
