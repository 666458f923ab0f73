// tollgate balance: the balance of an account, and the journal behind it.
import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { type Balance, DepositSource, type Entry, ListEntriesRequest } from '#proto/ledger/v1/ledger.js';
import { withReference } from '#rules/money/reference.js';
import { reversalKey } from '#rules/money/reversal-key.js';
import { usd } from '../output.js';
import { chooseAccount, withAccount } from '../options/accounts.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { CliError, isOutcomeUnknown } from '../errors.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parseAmount, parsePositiveAmount } from '../options/parse.js';
import { balanceView, depositSources, driftView, entryView, holdView, isRight, verificationView } from '../views/balance.js';

// Rebuilding all balances reads the whole journal.
const verifyTimeoutMs = 10 * 60_000;

interface AccountOption {
  readonly account?: string;
}

/** The noun `balance`. */
export function balanceCommand(cli: Cli): Command {
  const balance = new Command('balance').description('The balance of an account, and the journal behind it.');

  withAccount(balance.command('show'))
    .description('Show the available, held and spent amounts.')
    .action((options: AccountOption) =>
      cli.withServices(async ({ auth, ledger }) => {
        const accountId = await chooseAccount(auth, options.account);
        cli.out.show(balanceView, (await ledger.getBalance({ accountId }, operatorCall())).balance!);
      }),
    );

  withIdempotencyKey(withAccount(balance.command('deposit')))
    .description('Add funds. Applied only once for the same idempotency key.')
    .argument('<usd>', 'the amount, for example 5 or 0.25', parsePositiveAmount)
    .option('--source <source>', `the source of the funds: ${depositSources.all.join(' or ')}; cash by default`, depositSources.parse)
    .option('--reason <text>', 'the reason, shown with the entry')
    .option('--reference <text>', 'the reference of an invoice or a payment; added to the reason')
    .action(
      (
        amountNanoUsd: bigint,
        options: AccountOption & { source?: DepositSource; reason?: string; reference?: string; idempotencyKey?: string },
      ) =>
        cli.withServices(async ({ auth, ledger }) => {
          const accountId = await chooseAccount(auth, options.account);
          const { source = DepositSource.DEPOSIT_SOURCE_CASH } = options;
          const reason = withReference(options.reason ?? '', options.reference ?? '');
          await postWithKey(cli, options.idempotencyKey, (idempotencyKey) =>
            ledger.deposit({ idempotencyKey, accountId, amountNanoUsd, source, reason }, operatorCall()),
          );
        }),
    );

  withIdempotencyKey(withAccount(balance.command('adjust')))
    .description('Correct a balance with a new entry: a positive amount credits the account, a negative amount debits it.')
    .argument('<usd>', 'the amount, for example 1.50 or -0.25', parseAmount)
    .requiredOption('--reason <text>', 'the reason, shown with the entry')
    .option('--reference <text>', 'the reference of an invoice or a payment; added to the reason')
    .option('--entry <id>', 'the entry to correct')
    .option('--payment-refund', 'book a negative amount as returned to the payer of --entry, the deposit of a payment')
    .action(
      (
        amountNanoUsd: bigint,
        options: AccountOption & { reason: string; reference?: string; entry?: string; paymentRefund?: boolean; idempotencyKey?: string },
      ) =>
        cli.withServices(async ({ auth, ledger }) => {
          const accountId = await chooseAccount(auth, options.account);
          await postWithKey(cli, options.idempotencyKey, (idempotencyKey) =>
            ledger.adjust(
              {
                idempotencyKey,
                accountId,
                amountNanoUsd,
                reason: withReference(options.reason, options.reference ?? ''),
                linkedEntryId: options.entry ?? '',
                paymentRefund: options.paymentRefund,
              },
              operatorCall(),
            ),
          );
        }),
    );

  withIdempotencyKey(balance.command('refund <call>'))
    .description('Refund a call with an entry linked to the charge. At most the remaining amount of the charge.')
    .option('--amount <usd>', 'the amount to refund; by default the remaining amount', parsePositiveAmount)
    .option('--account <id>', 'the account of the call; found by the usage record by default')
    .requiredOption('--reason <text>', 'the reason, shown with the entry')
    .action((holdId: string, options: AccountOption & { amount?: bigint; reason: string; idempotencyKey?: string }) =>
      cli.withServices(async ({ metering, ledger }) => {
        const { account, amount: amountNanoUsd, reason } = options;
        const accountId =
          account ?? (await metering.getUsageRecord({ callId: holdId, accountId: '' }, operatorCall())).record!.call!.accountId;
        await postWithKey(cli, options.idempotencyKey, (idempotencyKey) =>
          ledger.refund({ idempotencyKey, accountId, holdId, amountNanoUsd, reason }, operatorCall()),
        );
      }),
    );

  withAccount(balance.command('reverse <entry>'))
    .description('Reverse what is left of an entry with the opposite entry, linked to it; a charge is refunded. A repeat changes nothing.')
    .requiredOption('--reason <text>', 'the reason, shown with the entry')
    .action((entryId: string, options: AccountOption & { reason: string }) =>
      cli.withServices(async ({ auth, ledger }) => {
        const accountId = await chooseAccount(auth, options.account);
        // Derived as in the console, so that the command can be repeated as it is.
        const idempotencyKey = reversalKey(entryId, await ledger.getEntry({ accountId, entryId }, operatorCall()));
        const request = { idempotencyKey, accountId, entryId, reason: withReference(options.reason, '') };
        await post(cli, idempotencyKey, 'repeat the command', () => ledger.reverse(request, operatorCall()));
      }),
    );

  withPaging(withAccount(balance.command('entries')))
    .description('List the journal of an account, newest first.')
    .action((options: AccountOption & PageOptions) =>
      cli.withServices(async ({ auth, ledger }) => {
        const accountId = await chooseAccount(auth, options.account);
        await listPages(cli, entryView, options, async (pageSize, pageToken) => {
          const response = await ledger.listEntries(ListEntriesRequest.fromPartial({ accountId, pageSize, pageToken }), operatorCall());
          return { items: response.entries, nextPageToken: response.nextPageToken };
        });
      }),
    );

  withPaging(withAccount(balance.command('holds')))
    .description('List funds held for calls in flight, oldest first.')
    .action((options: AccountOption & PageOptions) =>
      cli.withServices(async ({ auth, ledger }) => {
        const accountId = await chooseAccount(auth, options.account);
        await listPages(cli, holdView, options, async (pageSize, pageToken) => {
          const response = await ledger.listOpenHolds({ accountId, pageSize, pageToken }, operatorCall());
          return { items: response.holds, nextPageToken: response.nextPageToken };
        });
      }),
    );

  balance
    .command('verify')
    .description('Rebuild balances from the journal and compare them. Exit code 1 when any differs.')
    .option('--account <id>', 'only this account; all by default')
    .action((options: AccountOption) => verify(cli, options.account ?? ''));

  return balance;
}

function withIdempotencyKey(command: Command): Command {
  return command.option('--idempotency-key <key>', 'identifies this operation, so that a retry changes nothing; random by default');
}

interface Posted {
  readonly entry: Entry | undefined;
  readonly balance: Balance | undefined;
  readonly replayed: boolean;
}

/** Posts with the given key or a random one. Always prints it: a retry is safe only with the same key. */
async function postWithKey(cli: Cli, givenKey: string | undefined, send: (idempotencyKey: string) => Promise<Posted>): Promise<void> {
  const idempotencyKey = givenKey ?? randomUUID();
  await post(cli, idempotencyKey, `retry with the same amount and --idempotency-key ${idempotencyKey}`, () => send(idempotencyKey));
  cli.out.note(`To retry safely, add: --idempotency-key ${idempotencyKey}`);
}

/** Posts to the journal and shows the result; `retry` says how to repeat it if the outcome is unknown. */
async function post(cli: Cli, idempotencyKey: string, retry: string, send: () => Promise<Posted>): Promise<void> {
  const unknown = 'It may or may not have been booked.';
  const fix = `To make sure, ${retry}; it is never booked twice.`;
  const endInterrupts = cli.world.onInterrupt(() => cli.out.aside(`\n${unknown}\n${fix}`));
  try {
    const { entry, balance, replayed } = await send();
    cli.out.show(balanceView, balance!, { entry: entryView.json(entry!), replayed, idempotency_key: idempotencyKey });
    const amount = usd(entry!.amountNanoUsd);
    cli.out.note(replayed ? '\nThis had already been booked; nothing was changed.' : `\nBooked ${amount} as ${entry!.id}.`);
  } catch (error) {
    if (!isOutcomeUnknown(error)) throw error;
    throw new CliError(`${error instanceof Error ? error.message : String(error)} ${unknown}`, { fix, cause: error });
  } finally {
    endInterrupts();
  }
}

function verify(cli: Cli, accountId: string): Promise<void> {
  return cli.withServices(async ({ ledger }) => {
    const result = await ledger.verify({ accountId }, operatorCall(verifyTimeoutMs));
    cli.out.show(verificationView, result);
    if (isRight(result)) return;
    if (!cli.out.json) cli.out.list(driftView, result.drifts);
    throw new CliError('Balances differ from the journal.', {
      fix: 'Copy the ledger database before anything else; then read the entries of the accounts above.',
    });
  });
}
