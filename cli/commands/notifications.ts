// tollgate notifications: mails and webhook requests of the whole installation.
import { Command } from 'commander';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';

/** The noun `notifications`. */
export function notificationsCommand(cli: Cli): Command {
  const notifications = new Command('notifications').description('Emails and webhook requests of the whole installation.');
  notifications
    .command('resume')
    .description(
      'Send the emails and webhook requests that are pending after a restore. Do this only once you are sure that the original installation will not run again.',
    )
    .option('--withdraw-pending', 'discard those that are pending, for example because the original installation has sent them')
    .action((options: { withdrawPending?: boolean }) =>
      cli.withServices(async (services) => {
        const request = { withdrawPending: options.withdrawPending === true };
        const { withdrawn } = await services.notifications.resumeDeliveries(request, operatorCall());
        cli.out.show({ json: () => ({ withdrawn: Number(withdrawn) }), columns: [], details: [] }, {});
        cli.out.note(`Emails and webhook requests are sent again; ${withdrawn} were withdrawn.`);
      }),
    );
  return notifications;
}
