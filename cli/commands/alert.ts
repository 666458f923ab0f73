// tollgate alert: the low-balance alert of an account, and its deliveries.
import { Command } from 'commander';
import { NotificationChannel, NotificationState } from '#proto/auth/v1/notifications.js';
import { chooseAccount, withAccount } from '../options/accounts.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parsePositiveAmount } from '../options/parse.js';
import { type AlertNow, alertView, deliveryView } from '../views/alert.js';

// A mail server may be slow.
const testTimeoutMs = 40_000;

interface AccountOption {
  readonly account?: string;
}

interface SetOptions extends AccountOption {
  readonly email?: string[];
  readonly off?: boolean;
}

/** The noun `alert`. */
export function alertCommand(cli: Cli): Command {
  const alert = new Command('alert').description('The email alerts of an account. `tollgate webhook` sets up webhooks.');

  withAccount(alert.command('get'))
    .description('Show the alert, and whether the balance is below its threshold.')
    .action((options: AccountOption) =>
      cli.withServices(async (services) => {
        cli.out.show(alertView, await readAlert(services, await chooseAccount(services.auth, options.account)));
      }),
    );

  withAccount(alert.command('set'))
    .description('Replace the alert: addresses that are not named are removed.')
    .argument(
      '<usd>',
      'the threshold: it fires once when the settled balance falls below it, and not again until it has risen to 1.2 times that',
      parsePositiveAmount,
    )
    .option('--email <address...>', 'the recipients of the emails')
    .option('--off', 'keep the alert, but turn it off')
    .action((thresholdNanoUsd: bigint, options: SetOptions) =>
      cli.withServices(async (services) => {
        const accountId = await chooseAccount(services.auth, options.account);
        const { email: emails = [], off = false } = options;
        await services.alerts.putAlert({ accountId, enabled: !off, thresholdNanoUsd, emails, language: '' }, operatorCall());
        cli.out.show(alertView, await readAlert(services, accountId));
      }),
    );

  withAccount(alert.command('test'))
    .description('Send a test to every address and wait for the results. Exit code 1 when any delivery fails.')
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
        const channel = NotificationChannel.NOTIFICATION_CHANNEL_MAIL;
        await listPages(cli, deliveryView, options, async (pageSize, pageToken) => {
          const request = { accountId, pageSize, pageToken, channel, endpointId: '' };
          const response = await notifications.listNotifications(request, operatorCall());
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
