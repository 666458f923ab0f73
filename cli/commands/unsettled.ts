// tollgate usage unsettled, retry and close: charges that the ledger has not accepted, and how to handle those that it rejected.
import { Command } from 'commander';
import { UnsettledState } from '#proto/metering/v1/metering.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { CliError } from '../errors.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { unsettledStates, unsettledView } from '../views/reconcile.js';

/** Adds them to the noun `usage`. */
export function addUnsettledCommands(usage: Command, cli: Cli): void {
  withPaging(usage.command('unsettled'))
    .description('List charges that are waiting for the ledger, and charges that it rejected permanently.')
    .option('--account <id>', 'only charges of this account')
    .option(
      '--state <state>',
      `only charges in this state: ${unsettledStates.all.join(', ')}; waiting and rejected by default`,
      unsettledStates.parse,
    )
    .action((options: PageOptions & { account?: string; state?: UnsettledState }) =>
      cli.withServices(({ metering }) =>
        listPages(cli, unsettledView, options, async (pageSize, pageToken) => {
          const { account: accountId = '', state = UnsettledState.UNSETTLED_STATE_UNSPECIFIED } = options;
          const response = await metering.listUnsettledCharges({ accountId, state, pageSize, pageToken }, operatorCall());
          return { items: response.charges, nextPageToken: response.nextPageToken };
        }),
      ),
    );

  usage
    .command('retry')
    .description('Send rejected charges to the ledger again, after the cause was fixed.')
    .argument('[call]', 'the request id of one call')
    .option('--all', 'every rejected charge')
    .action((callId: string | undefined, options: { all?: boolean }) => {
      if ((callId === undefined) === (options.all !== true)) throw new CliError('Specify either a call or --all.', { exitCode: 2 });
      return cli.withServices(async ({ metering }) => {
        const { retried } = await metering.retrySettlement({ callId: callId ?? '' }, operatorCall());
        cli.out.show(
          { json: () => ({ retried: Number(retried) }), columns: [{ title: 'retried', text: () => retried.toString() }] },
          retried,
        );
        if (retried === 0n)
          cli.out.note(
            callId === undefined
              ? 'The ledger has rejected no charge.'
              : 'This charge was retried before: it is waiting for the ledger, or settled.',
          );
      });
    });

  usage
    .command('close <call>')
    .description('Close a rejected charge permanently. No money moves; the reason is kept.')
    .requiredOption('--reason <text>', 'the reason, kept with the charge')
    .action((callId: string, options: { reason: string }) =>
      cli.withServices(async ({ metering }) =>
        cli.out.show(unsettledView, (await metering.closeSettlement({ callId, reason: options.reason }, operatorCall())).charge!),
      ),
    );
}
