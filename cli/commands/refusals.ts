// tollgate refusals: calls that were refused, and why.
import { Command, InvalidArgumentError } from 'commander';
import { type RefusalFilter, RefusalGroupBy } from '#proto/metering/v1/metering.js';
import { isReason } from '#rules/errors/reasons.js';
import { assertAccount } from '../options/accounts.js';
import { type CallFilterOptions, callFilterOf, withCallFilter } from '../options/call-filter.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parseOffset } from '../options/parse.js';
import { withTraceLink } from '../views/trace-link.js';
import { refusalGroups, refusalTotalView, refusalView } from '../views/refusal.js';

interface FilterOptions extends CallFilterOptions {
  readonly reason?: string;
}

/** The noun `refusals`. */
export function refusalsCommand(cli: Cli): Command {
  const refusals = new Command('refusals').description('Calls that were refused, and why.');

  withPaging(withFilter(cli, refusals.command('list')))
    .description('List refused calls, newest first. In a flood, only some are stored; `refusals totals` counts all of them.')
    .action((options: FilterOptions & PageOptions) =>
      cli.withServices(async ({ auth, metering }) => {
        await assertAccount(auth, options.account);
        await listPages(cli, refusalView, options, async (pageSize, pageToken) => {
          const response = await metering.listRefusals({ filter: filterOf(options), pageSize, pageToken }, operatorCall());
          return { items: response.refusals, nextPageToken: response.nextPageToken };
        });
      }),
    );

  refusals
    .command('show <request>')
    .description('Show a refused call by its request id.')
    .action((requestId: string) =>
      cli.withServices(async ({ metering }) => {
        const { refusal } = await metering.getRefusal({ requestId, accountId: '' }, operatorCall());
        cli.out.show(withTraceLink(refusalView, cli.config().traceUrl), refusal!);
      }),
    );

  withFilter(cli, refusals.command('totals'))
    .description('Count refused calls.')
    .option(
      '--by <group>',
      `one line for each ${refusalGroups.all.join(', ')}`,
      refusalGroups.parse,
      RefusalGroupBy.REFUSAL_GROUP_BY_REASON,
    )
    .option('--then-by <group>', 'a second grouping within each group', refusalGroups.parse)
    .option('--tz-offset <offset>', 'the UTC offset for days and hours, for example +05:45 or -08:00', parseOffset)
    .action((options: FilterOptions & { by: RefusalGroupBy; thenBy?: RefusalGroupBy; tzOffset?: number }) =>
      cli.withServices(async ({ auth, metering }) => {
        await assertAccount(auth, options.account);
        const { by: groupBy, thenBy = RefusalGroupBy.REFUSAL_GROUP_BY_UNSPECIFIED, tzOffset: offsetMinutes = 0 } = options;
        const request = { filter: filterOf(options), groupBy, thenBy, offsetMinutes };
        cli.out.list(refusalTotalView(groupBy, thenBy), (await metering.getRefusalTotals(request, operatorCall())).groups);
      }),
    );

  return refusals;
}

function withFilter(cli: Cli, command: Command): Command {
  return withCallFilter(cli, command, 'refused').option(
    '--reason <reason>',
    'only calls refused for this reason, for example balance_empty',
    parseReason,
  );
}

function parseReason(text: string): string {
  const reason = text.replaceAll('-', '_');
  if (!isReason(reason)) throw new InvalidArgumentError('Specify an error reason such as balance_empty; docs/errors lists them.');
  return reason;
}

function filterOf(options: FilterOptions): RefusalFilter {
  return { ...callFilterOf(options), reason: options.reason ?? '' };
}
