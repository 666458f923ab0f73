// tollgate balance: an account's money, and the journal behind it.
import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { type Balance, DepositSource, type Entry, EntryKind, ListEntriesRequest } from '#proto/ledger/v1/ledger.js';
import { chooseAccount, withAccount } from '../accounts.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { CliError, isOutcomeUnknown } from '../errors.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parseAmount, parseCount, parsePositiveAmount } from '../parse.js';
import { balanceView, depositSources, driftView, entryView, holdView, isRight, signedAmount, verificationView } from '../views/balance.js';

// Rebuilding all balances reads the whole journal.
const verifyTimeoutMs = 10 * 60_000;

interface AccountOption {
  readonly account?: string;
}

/** The noun `balance`. */
export function balanceCommand(cli: Cli): Command {
  const balance = new Command('balance').description("Money: an account's balance and the journal behind it.");

  withAccount(balance.command('show'))
    .description('What is available, held and spent.')
    .action((options: AccountOption) =>
      cli.withServices(async ({ auth, ledger }) => {
        const accountId = await chooseAccount(auth, options.account);
        cli.out.show(balanceView, (await ledger.getBalance({ accountId }, operatorCall())).balance!);
      }),
    );

  withIdempotencyKey(withAccount(balance.command('deposit')))
    .description('Add money. Never done twice for the same idempotency key.')
    .argument('<usd>', 'for example 5 or 0.25', parsePositiveAmount)
    .option('--source <source>', `where it came from: ${depositSources.all.join(' or ')}; cash unless given`, depositSources.parse)
    .option('--reason <text>', 'for people: why')
    .option('--reference <text>', 'of an invoice or a payment; it stands behind the reason')
    .action(
      (
        amountNanoUsd: bigint,
        options: AccountOption & { source?: DepositSource; reason?: string; reference?: string; idempotencyKey?: string },
      ) =>
        cli.withServices(async ({ auth, ledger }) => {
          const accountId = await chooseAccount(auth, options.account);
          const { source = DepositSource.DEPOSIT_SOURCE_CASH } = options;
          const reason = withReference(options.reason ?? '', options.reference);
          await post(cli, options.idempotencyKey, (idempotencyKey) =>
            ledger.deposit({ idempotencyKey, accountId, amountNanoUsd, source, reason }, operatorCall()),
          );
        }),
    );

  withIdempotencyKey(withAccount(balance.command('adjust')))
    .description('Correct a balance by a new entry: a positive amount credits the account, a negative one debits it.')
    .argument('<usd>', 'for example 1.50 or -0.25', parseAmount)
    .requiredOption('--reason <text>', 'for people: why')
    .option('--reference <text>', 'of an invoice or a payment; it stands behind the reason')
    .option('--entry <id>', 'the entry that is corrected')
    .action(
      (amountNanoUsd: bigint, options: AccountOption & { reason: string; reference?: string; entry?: string; idempotencyKey?: string }) =>
        cli.withServices(async ({ auth, ledger }) => {
          const accountId = await chooseAccount(auth, options.account);
          await post(cli, options.idempotencyKey, (idempotencyKey) =>
            ledger.adjust(
              {
                idempotencyKey,
                accountId,
                amountNanoUsd,
                reason: withReference(options.reason, options.reference),
                linkedEntryId: options.entry ?? '',
              },
              operatorCall(),
            ),
          );
        }),
    );

  withIdempotencyKey(balance.command('refund <call>'))
    .description('Give back what a call was charged, by an entry linked to the charge. Never more than is left of it.')
    .option('--amount <usd>', 'how much; all that is left unless given', parsePositiveAmount)
    .option('--account <id>', 'whose call; found by the usage record unless given')
    .requiredOption('--reason <text>', 'for people: why')
    .action((holdId: string, options: AccountOption & { amount?: bigint; reason: string; idempotencyKey?: string }) =>
      cli.withServices(async ({ metering, ledger }) => {
        const { account, amount: amountNanoUsd, reason } = options;
        const accountId =
          account ?? (await metering.getUsageRecord({ callId: holdId, accountId: '' }, operatorCall())).record!.call!.accountId;
        await post(cli, options.idempotencyKey, (idempotencyKey) =>
          ledger.refund({ idempotencyKey, accountId, holdId, amountNanoUsd, reason }, operatorCall()),
        );
      }),
    );

  withAccount(balance.command('reverse <entry>'))
    .description('Undo an entry by the opposite one, linked to it; of a charge, give back what is left. Never done twice.')
    .requiredOption('--reason <text>', 'for people: why')
    .action((entryId: string, options: AccountOption & { reason: string }) =>
      cli.withServices(async ({ auth, ledger }) => {
        const accountId = await chooseAccount(auth, options.account);
        const { entry } = await ledger.getEntry({ accountId, entryId }, operatorCall());
        const { reason } = options;
        const effect = signedAmount(entry!);
        if (effect === 0n)
          throw new CliError('This entry took nothing from the account and added nothing, so there is nothing to reverse.');
        // The entry names the operation, as in the console, so that whoever asks again changes nothing.
        await post(cli, `reverse ${entry!.id}`, (idempotencyKey) =>
          entry!.kind === EntryKind.ENTRY_KIND_CHARGE
            ? ledger.refund({ idempotencyKey, accountId, holdId: entry!.reference, amountNanoUsd: undefined, reason }, operatorCall())
            : ledger.adjust({ idempotencyKey, accountId, amountNanoUsd: -effect, reason, linkedEntryId: entry!.id }, operatorCall()),
        );
      }),
    );

  withPaging(withAccount(balance.command('entries')))
    .description('The journal of an account, newest first.')
    .action((options: AccountOption & PageOptions) =>
      cli.withServices(async ({ auth, ledger }) => {
        const accountId = await chooseAccount(auth, options.account);
        await listPages(cli, entryView, options, async (pageSize, pageToken) => {
          const response = await ledger.listEntries(ListEntriesRequest.fromPartial({ accountId, pageSize, pageToken }), operatorCall());
          return { items: response.entries, nextPageToken: response.nextPageToken };
        });
      }),
    );

  withAccount(balance.command('holds'))
    .description('Money set aside for calls in flight, oldest first.')
    .option('--limit <count>', 'how many at most', (text) => parseCount(text, 1, 1000), 100)
    .action((options: AccountOption & { limit: number }) =>
      cli.withServices(async ({ auth, ledger }) => {
        const accountId = await chooseAccount(auth, options.account);
        cli.out.list(holdView, (await ledger.listOpenHolds({ accountId, pageSize: options.limit }, operatorCall())).holds);
      }),
    );

  balance
    .command('verify')
    .description('Rebuild balances from the journal and compare. Exit code 1 when any differs.')
    .option('--account <id>', 'only this account; else all')
    .action((options: AccountOption) => verify(cli, options.account ?? ''));

  return balance;
}

function withIdempotencyKey(command: Command): Command {
  return command.option('--idempotency-key <key>', 'names this operation, so that a repeat changes nothing; a random one unless given');
}

/** The ledger keeps one text; the reference stands behind the reason. */
function withReference(reason: string, reference: string | undefined): string {
  return reference === undefined ? reason : `${reason} (${reference})`.trim();
}

interface Posted {
  readonly entry: Entry | undefined;
  readonly balance: Balance | undefined;
  readonly replayed: boolean;
}

/** Posts to the journal and shows the result. The key is told in any case: with it a repeat is safe, without it none is. */
async function post(cli: Cli, givenKey: string | undefined, send: (idempotencyKey: string) => Promise<Posted>): Promise<void> {
  const idempotencyKey = givenKey ?? randomUUID();
  try {
    const { entry, balance, replayed } = await send(idempotencyKey);
    cli.out.show(balanceView, balance!, { entry: entryView.json(entry!), replayed, idempotency_key: idempotencyKey });
    cli.out.note(replayed ? '\nThis had been booked before; nothing was changed.' : `\nBooked as ${entry!.id}.`);
    cli.out.note(`To repeat it safely add: --idempotency-key ${idempotencyKey}`);
  } catch (error) {
    if (!isOutcomeUnknown(error)) throw error;
    throw new CliError(`${error instanceof Error ? error.message : String(error)} It may or may not have been booked.`, {
      fix: `To make sure, repeat it with the same amount and --idempotency-key ${idempotencyKey}; it is never booked twice.`,
      cause: error,
    });
  }
}

function verify(cli: Cli, accountId: string): Promise<void> {
  return cli.withServices(async ({ ledger }) => {
    const result = await ledger.verify({ accountId }, operatorCall(verifyTimeoutMs));
    cli.out.show(verificationView, result);
    if (isRight(result)) return;
    if (!cli.out.json) cli.out.list(driftView, result.drifts);
    throw new CliError('The books are not right.', {
      fix: 'Take a copy of the ledger database before anything else; then read the entries of the accounts named.',
    });
  });
}
