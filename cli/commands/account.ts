// tollgate account: whose money and keys they are.
import { Command } from 'commander';
import { AccountState } from '#proto/auth/v1/auth.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { accountView, accountWithBalanceView } from '../views/account.js';

/** The noun `account`. */
export function accountCommand(cli: Cli): Command {
  const account = new Command('account').description('Accounts: whose money and keys they are.');

  account
    .command('create <name>')
    .description('Make an account.')
    .option('--idempotency-key <key>', 'a repeat with the same key makes no second account')
    .action((name: string, options: { idempotencyKey?: string }) =>
      cli.withServices(async ({ auth }) => {
        const response = await auth.createAccount({ name, idempotencyKey: options.idempotencyKey ?? '' }, operatorCall());
        cli.out.show(accountView, response.account!);
        cli.out.note(`\nNext: tollgate balance deposit 5 --account ${response.account!.id}\n      tollgate key create --name first --account ${response.account!.id}`);
      }),
    );

  withPaging(account.command('list'))
    .description('All accounts, in order of creation.')
    .action((options: PageOptions) =>
      cli.withServices(({ auth }) =>
        listPages(cli, accountView, options, async (pageSize, pageToken) => {
          const response = await auth.listAccounts({ pageSize, pageToken }, operatorCall());
          return { items: response.accounts, nextPageToken: response.nextPageToken };
        }),
      ),
    );

  account
    .command('show <account>')
    .description('One account with its balance.')
    .action((accountId: string) =>
      cli.withServices(async ({ auth, ledger }) => {
        const response = await auth.getAccount({ accountId }, operatorCall());
        const { balance } = await ledger.getBalance({ accountId }, operatorCall());
        cli.out.show(accountWithBalanceView, { account: response.account!, balance: balance! });
      }),
    );

  account
    .command('rename <account> <name>')
    .description('Give an account another name.')
    .action((accountId: string, name: string) => update(cli, { accountId, name, state: AccountState.ACCOUNT_STATE_UNSPECIFIED }));

  account
    .command('suspend <account>')
    .description('Refuse every call of an account, from within a second on. Nothing is deleted.')
    .action((accountId: string) => update(cli, { accountId, name: undefined, state: AccountState.ACCOUNT_STATE_SUSPENDED }));

  account
    .command('resume <account>')
    .description('End a suspension.')
    .action((accountId: string) => update(cli, { accountId, name: undefined, state: AccountState.ACCOUNT_STATE_ACTIVE }));

  return account;
}

function update(cli: Cli, request: { accountId: string; name: string | undefined; state: AccountState }): Promise<void> {
  return cli.withServices(async ({ auth }) => {
    const response = await auth.updateAccount(request, operatorCall());
    cli.out.show(accountView, response.account!);
  });
}
