// tollgate usage: calls and their cost.
import { Command } from 'commander';
import { AppError } from '#client/errors/app-error.js';
import { Outcome, GroupBy, type UsageFilter, type UsageRecord } from '#proto/metering/v1/metering.js';
import { assertAccount } from '../options/accounts.js';
import { type CallFilterOptions, callFilterOf, withCallFilter } from '../options/call-filter.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { usd, usdJson } from '../output.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parseOffset } from '../options/parse.js';
import { withTraceLink } from '../views/trace-link.js';
import { recordView, totalView, usageWords } from '../views/usage.js';
import { addUnsettledCommands } from './unsettled.js';

// Sums over long periods read many records.
const totalsTimeoutMs = 120_000;

interface FilterOptions extends CallFilterOptions {
  readonly outcome?: Outcome;
}

/** The noun `usage`. */
export function usageCommand(cli: Cli): Command {
  const usage = new Command('usage').description('Calls and their cost.');

  withPaging(withFilter(cli, usage.command('list')))
    .description('List calls, newest first.')
    .action((options: FilterOptions & PageOptions) =>
      cli.withServices(async ({ auth, metering }) => {
        await assertAccount(auth, options.account);
        await listPages(cli, recordView, options, async (pageSize, pageToken) => {
          const response = await metering.listUsageRecords({ filter: filterOf(options), pageSize, pageToken }, operatorCall());
          return { items: response.records, nextPageToken: response.nextPageToken };
        });
      }),
    );

  usage
    .command('show <call>')
    .description('Show a call by its request id, with the calculation of its charge.')
    .action((callId: string) =>
      cli.withServices(async ({ metering, ledger }) => {
        const record = (await metering.getUsageRecord({ callId, accountId: '' }, operatorCall())).record!;
        const refundedNanoUsd = await refundedOf(record, ledger);
        cli.out.show(withTraceLink(recordView, cli.config().traceUrl), record, usdJson('refunded', refundedNanoUsd));
        if (refundedNanoUsd !== undefined && refundedNanoUsd > 0n)
          cli.out.note(`\n${usd(refundedNanoUsd)} has been refunded since; \`tollgate balance entries\` shows why.`);
      }),
    );

  withFilter(cli, usage.command('totals'))
    .description('Show totals over calls.')
    .option(
      '--by <group>',
      `one line for each ${usageWords.groupBy.all.join(', ')} (days and hours are UTC unless --tz-offset says otherwise)`,
      usageWords.groupBy.parse,
    )
    .option('--then-by <group>', 'a second grouping within each group', usageWords.groupBy.parse)
    .option('--tz-offset <offset>', 'the UTC offset for days and hours, for example +05:45 or -08:00', parseOffset)
    .action((options: FilterOptions & { by?: GroupBy; thenBy?: GroupBy; tzOffset?: number }) =>
      cli.withServices(async ({ auth, metering }) => {
        await assertAccount(auth, options.account);
        const request = {
          filter: filterOf(options),
          groupBy: options.by ?? GroupBy.GROUP_BY_UNSPECIFIED,
          thenBy: options.thenBy ?? GroupBy.GROUP_BY_UNSPECIFIED,
          offsetMinutes: options.tzOffset ?? 0,
        };
        cli.out.list(
          totalView(request.groupBy, request.thenBy),
          (await metering.getUsageTotals(request, operatorCall(totalsTimeoutMs))).groups,
        );
      }),
    );

  addUnsettledCommands(usage, cli);
  return usage;
}

/** Returns how much of a call's charge was refunded; undefined when the ledger is unavailable, so that the call is shown anyway. */
async function refundedOf({ call, settlement }: UsageRecord, ledger: Services['ledger']): Promise<bigint | undefined> {
  if (call === undefined || settlement === undefined) return undefined;
  try {
    return (await ledger.getHold({ holdId: call.id, accountId: call.accountId }, operatorCall())).hold?.refundedNanoUsd;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

function withFilter(cli: Cli, command: Command): Command {
  return withCallFilter(cli, command, 'started').option(
    '--outcome <outcome>',
    `only calls with this outcome: ${usageWords.outcome.all.join(', ')}`,
    usageWords.outcome.parse,
  );
}

function filterOf(options: FilterOptions): UsageFilter {
  return { ...callFilterOf(options), outcome: options.outcome ?? Outcome.OUTCOME_UNSPECIFIED };
}
