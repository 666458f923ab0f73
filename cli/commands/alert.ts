// tollgate alert: who is told that an account's balance is low, and what was sent.
import { Command } from 'commander';
import { AlertDeliveryState } from '#proto/ledger/v1/alerts.js';
import { chooseAccount, withAccount } from '../accounts.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { CliError } from '../errors.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parsePositiveAmount } from '../parse.js';
import { alertView, deliveryView } from '../views/alert.js';

// A mail server may take its time.
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
    .description('The alert, and how the balance stands to it.')
    .action((options: AccountOption) =>
      cli.withServices(async ({ auth, alerts }) => {
        cli.out.show(alertView, await alerts.getAlert({ accountId: await chooseAccount(auth, options.account) }, operatorCall()));
      }),
    );

  withAccount(alert.command('set'))
    .description('Set all of the alert: what is not named is taken away.')
    .argument('<usd>', 'it fires once when the settled balance is below this, and again only after a clear rise', parsePositiveAmount)
    .option('--email <address...>', 'who gets a mail')
    .option('--webhook <url>', 'where a signed request goes')
    .option('--new-secret', 'a new signing secret in place of the present one')
    .option('--off', 'keep it, but switched off')
    .action((thresholdNanoUsd: bigint, options: SetOptions) =>
      cli.withServices(async ({ auth, alerts }) => {
        const accountId = await chooseAccount(auth, options.account);
        const { email: emails = [], webhook: webhookUrl = '', newSecret: rotateWebhookSecret = false, off = false } = options;
        const { webhookSecret } = await alerts.putAlert(
          { accountId, enabled: !off, thresholdNanoUsd, emails, webhookUrl, rotateWebhookSecret },
          operatorCall(),
        );
        cli.out.show(
          alertView,
          await alerts.getAlert({ accountId }, operatorCall()),
          webhookSecret === '' ? {} : { webhook_secret: webhookSecret },
        );
        if (webhookSecret !== '')
          cli.out.note(`\nThe webhook's requests are signed with this secret, which is not shown again:\n${webhookSecret}`);
      }),
    );

  withAccount(alert.command('test'))
    .description('Send a test to every destination and wait for it. Exit code 1 when any did not take it.')
    .action((options: AccountOption) =>
      cli.withServices(async ({ auth, alerts }) => {
        const { deliveries } = await alerts.testAlert(
          { accountId: await chooseAccount(auth, options.account) },
          operatorCall(testTimeoutMs),
        );
        cli.out.list(deliveryView, deliveries);
        const failed = deliveries.filter(({ state }) => state !== AlertDeliveryState.ALERT_DELIVERY_STATE_DELIVERED);
        if (failed.length > 0)
          throw new CliError(`${failed.length} of ${deliveries.length} did not take it.`, { fix: 'See the outcome of each above.' });
      }),
    );

  withPaging(withAccount(alert.command('deliveries')))
    .description('What was sent, newest first, with what came of it.')
    .action((options: AccountOption & PageOptions) =>
      cli.withServices(async ({ auth, alerts }) => {
        const accountId = await chooseAccount(auth, options.account);
        await listPages(cli, deliveryView, options, async (pageSize, pageToken) => {
          const response = await alerts.listAlertDeliveries({ accountId, pageSize, pageToken }, operatorCall());
          return { items: response.deliveries, nextPageToken: response.nextPageToken };
        });
      }),
    );

  return alert;
}
