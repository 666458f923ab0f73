// tollgate code: redemption codes, which credit the account that redeems them.
import { Command } from 'commander';
import { newId } from '#kit/id.js';
import { CreateRedemptionCodesRequest, ListRedemptionCodesRequest, RedemptionCodeState } from '#proto/ledger/v1/ledger.js';
import { chooseAccount, withAccount } from '../options/accounts.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { CliError, isOutcomeUnknown } from '../errors.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parseCount, parseInstant, parsePositiveAmount } from '../options/parse.js';
import { balanceView, entryView } from '../views/balance.js';
import { codeStates, codeView } from '../views/statement.js';

interface CreateOptions {
  readonly count: number;
  readonly expires?: bigint;
  readonly note?: string;
}

/** The noun `code`. */
export function codeCommand(cli: Cli): Command {
  const code = new Command('code').description('Redemption codes. Each can be redeemed once, by one account, for promotional credit.');

  code
    .command('create')
    .description('Create codes. They are shown only once.')
    .argument('<usd>', 'the value of each code, for example 5', parsePositiveAmount)
    .option('--count <count>', 'the number of codes', (text) => parseCount(text, 1, 500), 1)
    .option('--expires <when>', 'the expiry: a time, or a duration such as 30d; they never expire by default', (text) =>
      parseInstant(text, cli.world.nowMs(), 'ahead'),
    )
    .option('--note <text>', 'a note for operators')
    .action((amountNanoUsd: bigint, options: CreateOptions) => create(cli, amountNanoUsd, options));

  withPaging(code.command('list'))
    .description('List codes without their secrets, newest first.')
    .option('--state <state>', `only codes in this state: ${codeStates.all.join(', ')}`, codeStates.parse)
    .option('--batch <id>', 'only codes of this batch')
    .action((options: PageOptions & { state?: RedemptionCodeState; batch?: string }) =>
      cli.withServices(async ({ ledger }) => {
        await listPages(cli, codeView, options, async (pageSize, pageToken) => {
          const request = ListRedemptionCodesRequest.fromPartial({
            pageSize,
            pageToken,
            state: options.state ?? 0,
            batchId: options.batch ?? '',
          });
          const { codes, nextPageToken } = await ledger.listRedemptionCodes(request, operatorCall());
          return { items: codes.map((each) => ({ code: each, nowMs: cli.world.nowMs() })), nextPageToken };
        });
      }),
    );

  code
    .command('void <id>')
    .description('Void a code (code_…), or the codes of a batch (batch_…) that have not been redeemed.')
    .action((id: string) =>
      cli.withServices(async ({ ledger }) => {
        const { voided } = await ledger.voidRedemptionCodes({ id }, operatorCall());
        cli.out.show({ json: (count) => ({ voided: count }), columns: [{ title: 'voided', text: String }] }, voided);
      }),
    );

  withAccount(code.command('redeem'))
    .description('Credit an account with a code, which is read from standard input.')
    .action((options: { account?: string }) =>
      cli.withServices(async ({ auth, ledger }) => {
        const accountId = await chooseAccount(auth, options.account);
        const { entry, balance, replayed } = await ledger.redeemCode(
          { accountId, secret: (await cli.world.readStdin()).trim() },
          operatorCall(),
        );
        cli.out.show(balanceView, balance!, { entry: entryView.json(entry!), replayed });
        cli.out.note(replayed ? '\nThis account had already redeemed it; nothing was changed.' : `\nBooked as ${entry!.id}.`);
      }),
    );

  return code;
}

function create(cli: Cli, amountNanoUsd: bigint, { count, expires, note = '' }: CreateOptions): Promise<void> {
  return cli.withServices(async ({ ledger }) => {
    const batchId = newId('batch');
    const request = CreateRedemptionCodesRequest.fromPartial({
      batchId,
      amountNanoUsd,
      count,
      note,
      createdBy: 'operator',
      ...(expires === undefined ? {} : { expiresAtMs: expires }),
    });
    try {
      const { codes, secrets } = await ledger.createRedemptionCodes(request, operatorCall());
      cli.out.list(
        codeView,
        codes.map((each, index) => ({ code: each, secret: secrets[index], nowMs: cli.world.nowMs() })),
      );
      cli.out.aside('Copy them now: they are not shown again.');
    } catch (error) {
      if (!isOutcomeUnknown(error)) throw error;
      throw new CliError(`${error instanceof Error ? error.message : String(error)} Codes may have been created that were never shown.`, {
        fix: `Void them with: tollgate code void ${batchId}`,
        cause: error,
      });
    }
  });
}
