// tollgate code: redemption codes, which credit whoever redeems them.
import { Command } from 'commander';
import { newId } from '#kit/id.js';
import { CreateRedemptionCodesRequest, ListRedemptionCodesRequest, RedemptionCodeState } from '#proto/ledger/v1/ledger.js';
import { chooseAccount, withAccount } from '../accounts.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { CliError, isOutcomeUnknown } from '../errors.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parseCount, parseInstant, parsePositiveAmount } from '../parse.js';
import { balanceView, entryView } from '../views/balance.js';
import { codeStates, codeView } from '../views/statement.js';

interface CreateOptions {
  readonly count: number;
  readonly expires?: bigint;
  readonly note?: string;
}

/** The noun `code`. */
export function codeCommand(cli: Cli): Command {
  const code = new Command('code').description('Redemption codes: each credits one account once, as a promotion.');

  code
    .command('create')
    .description('Make codes. They are shown this once and never again.')
    .argument('<usd>', 'what each is worth, for example 5', parsePositiveAmount)
    .option('--count <count>', 'how many', (text) => parseCount(text, 1, 500), 1)
    .option('--expires <when>', 'until when they can be redeemed: an instant or for example 30d; for ever unless given', (text) =>
      parseInstant(text, cli.world.nowMs(), 'ahead'),
    )
    .option('--note <text>', 'for operators: what they are for')
    .action((amountNanoUsd: bigint, options: CreateOptions) => create(cli, amountNanoUsd, options));

  withPaging(code.command('list'))
    .description('All codes without their secrets, newest first.')
    .option('--state <state>', `only those that are ${codeStates.all.join(', ')}`, codeStates.parse)
    .option('--batch <id>', 'only those made together')
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
    .description('Take a code (code_…), or those of a batch (batch_…) that nobody has redeemed, out of use.')
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
        cli.out.note(replayed ? '\nThis account had redeemed it before; nothing was changed.' : `\nBooked as ${entry!.id}.`);
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
      cli.out.aside('Keep them now: they are not shown again.');
    } catch (error) {
      if (!isOutcomeUnknown(error)) throw error;
      throw new CliError(`${error instanceof Error ? error.message : String(error)} Codes may have been made that nobody has seen.`, {
        fix: `Take them out of use with: tollgate code void ${batchId}`,
        cause: error,
      });
    }
  });
}
