// tollgate statement: the monthly statements of an account, and their lines.
import { Command } from 'commander';
import { pagesOf } from '#kit/pages.js';
import { ListProjectsRequest } from '#proto/auth/v1/auth.js';
import { EntryKind, ListEntriesRequest } from '#proto/ledger/v1/ledger.js';
import { GetUsageTotalsRequest, GroupBy } from '#proto/metering/v1/metering.js';
import { chooseAccount, withAccount } from '../options/accounts.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parseList, wordsOf } from '../options/parse.js';
import { entryView } from '../views/balance.js';
import { projectChargesView, statementView } from '../views/statement.js';

const kinds = wordsOf<EntryKind>(EntryKind, 'ENTRY_KIND_');

interface AccountOption {
  readonly account?: string;
}

/** The noun `statement`. */
export function statementCommand(cli: Cli): Command {
  const statement = new Command('statement').description(
    'Monthly statements of an account: opening balance, deposits, charges and closing balance (months in UTC).',
  );

  withPaging(withAccount(statement.command('list')))
    .description('List months with their opening balance, totals and closing balance, newest first.')
    .action((options: AccountOption & PageOptions) =>
      cli.withServices(async ({ auth, ledger }) => {
        const accountId = await chooseAccount(auth, options.account);
        await listPages(cli, statementView, options, async (pageSize, pageToken) => {
          const { statements, nextPageToken } = await ledger.listStatements(
            { accountId, pageSize: Math.min(pageSize, 240), pageToken },
            operatorCall(),
          );
          return { items: statements, nextPageToken };
        });
      }),
    );

  withAccount(statement.command('show <month>'))
    .description('Show one month, such as 2026-11.')
    .action((month: string, options: AccountOption) =>
      cli.withServices(async ({ auth, ledger }) => {
        const accountId = await chooseAccount(auth, options.account);
        cli.out.show(statementView, (await ledger.getStatement({ accountId, month }, operatorCall())).statement!);
      }),
    );

  withAccount(statement.command('projects <month>'))
    .description('List the cost of the calls that began in one month, by project.')
    .action((month: string, options: AccountOption) =>
      cli.withServices(async ({ auth, ledger, metering }) => {
        const accountId = await chooseAccount(auth, options.account);
        const { fromMs, untilMs } = (await ledger.getStatement({ accountId, month }, operatorCall())).statement!;
        const request = GetUsageTotalsRequest.fromPartial({ filter: { accountId, fromMs, untilMs }, groupBy: GroupBy.GROUP_BY_PROJECT });
        const { groups } = await metering.getUsageTotals(request, operatorCall());
        const names = new Map<string, string>();
        const listed = pagesOf((pageToken) =>
          auth.listProjects(ListProjectsRequest.fromPartial({ accountId, pageSize: 1000, pageToken }), operatorCall()),
        );
        for await (const { projects } of listed) for (const { id, name } of projects) names.set(id, name);
        cli.out.list(
          projectChargesView,
          groups.map((group) => ({ group, project: names.get(group.name) ?? '' })),
        );
      }),
    );

  withPaging(withAccount(statement.command('lines <month>')))
    .description('List the lines of one month between its opening and closing balance, oldest first.')
    .option('--kind <kinds>', `only lines of these kinds, separated by commas: ${kinds.all.join(', ')}`, (text) =>
      parseList(text).map(kinds.parse),
    )
    .action((month: string, options: AccountOption & PageOptions & { kind?: EntryKind[] }) =>
      cli.withServices(async ({ auth, ledger }) => {
        const accountId = await chooseAccount(auth, options.account);
        await listPages(cli, entryView, options, async (pageSize, pageToken) => {
          const request = ListEntriesRequest.fromPartial({
            accountId,
            month,
            kinds: options.kind ?? [],
            oldestFirst: true,
            pageSize,
            pageToken,
          });
          const { entries, nextPageToken } = await ledger.listEntries(request, operatorCall());
          return { items: entries, nextPageToken };
        });
      }),
    );

  return statement;
}
