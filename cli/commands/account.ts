// tollgate account: accounts, which own balances and keys.
import { Command } from 'commander';
import { type Account, AccountState, type DeepPartial, UpdateAccountRequest } from '#proto/auth/v1/auth.js';
import type { Balance } from '#proto/ledger/v1/ledger.js';
import { type BudgetOptions, changedBudgets, spendOfBudgets, withBudgets } from '../options/budgets.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { changedAccountRateLimits, hasRateLimits, newRateLimits, type RateLimitOptions, withRateLimits } from '../options/rate-limits.js';
import { unlessUnavailable } from '../unavailable.js';
import { accountInListView, accountStates, accountView, accountWithBalanceView } from '../views/account.js';

interface UpdateOptions extends RateLimitOptions, BudgetOptions {
  readonly model?: string;
  readonly timeZone?: string;
}

/** The noun `account`. */
export function accountCommand(cli: Cli): Command {
  const account = new Command('account').description('Accounts, which own balances and keys. They cannot be deleted, only suspended.');

  withRateLimits(account.command('create <name>'))
    .description('Create an account.')
    .option('--idempotency-key <key>', 'a retry with the same key creates no second account')
    .action((name: string, options: { idempotencyKey?: string } & RateLimitOptions) =>
      cli.withServices(async ({ auth }) => {
        const allModels = newRateLimits(options);
        const rateLimits = allModels === undefined ? undefined : { allModels, models: [] };
        const response = await auth.createAccount({ name, idempotencyKey: options.idempotencyKey ?? '', rateLimits }, operatorCall());
        cli.out.show(accountView, response.account!);
        cli.out.note(
          `\nNext: tollgate balance deposit 5 --account ${response.account!.id}\n      tollgate key create --name first --account ${response.account!.id}`,
        );
      }),
    );

  withPaging(account.command('list'))
    .description('List accounts with their balances, in order of creation.')
    .option('--search <text>', 'only accounts whose name contains this, or whose id begins with it')
    .option('--state <state>', `only accounts in this state: ${accountStates.all.join(' or ')}`, accountStates.parse)
    .option('--newest-first', 'list the newest first')
    .action((options: PageOptions & { search?: string; state?: AccountState; newestFirst?: boolean }) =>
      cli.withServices(({ auth, ledger }) =>
        listPages(cli, accountInListView, options, async (pageSize, pageToken) => {
          const { search = '', state = AccountState.ACCOUNT_STATE_UNSPECIFIED, newestFirst = false } = options;
          const { accounts, keyCounts, nextPageToken } = await auth.listAccounts(
            { pageSize, pageToken, search, state, newestFirst, withKeyCounts: true },
            operatorCall(),
          );
          const balances = await balancesOf(accounts, ledger);
          return {
            items: accounts.map((account, index) => ({ account, balance: balances?.[index], keys: keyCounts[index]! })),
            nextPageToken,
          };
        }),
      ),
    );

  account
    .command('show <account>')
    .description('Show an account with its balance.')
    .action((accountId: string) =>
      cli.withServices(async (services) => {
        const { account: found } = await services.auth.getAccount({ accountId }, operatorCall());
        const [balance] = (await balancesOf([found!], services.ledger)) ?? [];
        const spend = await spendOfBudgets(services, accountId, found!.budgets);
        cli.out.show(accountWithBalanceView, { account: found!, balance, spend });
      }),
    );

  withBudgets(withRateLimits(account.command('update <account>')))
    .description(
      'Change the limits, the budgets or the time zone of an account. Takes effect everywhere within a second. Settings without an option do not change.',
    )
    .option('--model <id>', 'only the rate limits of this model within the account')
    .option('--time-zone <name>', 'the time zone in which the periods of its budgets begin, such as Europe/Berlin')
    .action((accountId: string, options: UpdateOptions) =>
      cli.withServices(async ({ auth }) => {
        let present = (await auth.getAccount({ accountId }, operatorCall())).account!;
        const budgets = changedBudgets(present.budgets, options);
        const hasLimits = hasRateLimits(options);
        if (!hasLimits && (options.model !== undefined || (budgets === undefined && options.timeZone === undefined)))
          throw new CliError('No change was specified.', {
            fix:
              options.model === undefined
                ? 'Specify --rpm, --tpm, --concurrency, --budget or --time-zone.'
                : 'Specify --rpm, --tpm or --concurrency.',
            exitCode: 2,
          });
        if (budgets !== undefined || options.timeZone !== undefined) {
          const updateMask = [...(budgets === undefined ? [] : ['budgets']), ...(options.timeZone === undefined ? [] : ['time_zone'])];
          const request = { accountId, budgets: budgets ?? [], timeZone: options.timeZone ?? '', updateMask };
          present = (await auth.updateAccountBudgets(request, operatorCall())).account!;
        }
        if (hasLimits) {
          const rateLimits = changedAccountRateLimits(present.rateLimits, options.model, options);
          const request = UpdateAccountRequest.fromPartial({ accountId, rateLimits, updateMask: ['rate_limits'] });
          present = (await auth.updateAccount(request, operatorCall())).account!;
        }
        cli.out.show(accountView, present);
      }),
    );

  account
    .command('rename <account> <name>')
    .description('Rename an account.')
    .action((accountId: string, name: string) => update(cli, { accountId, name, updateMask: ['name'] }));

  account
    .command('suspend <account>')
    .description('Suspend an account: all of its calls are rejected within a second. Nothing is deleted.')
    .option('--reason <text>', 'the reason, shown to callers that use a key of the account')
    .action((accountId: string, options: { reason?: string }) =>
      update(cli, {
        accountId,
        state: AccountState.ACCOUNT_STATE_SUSPENDED,
        stateReason: options.reason ?? '',
        updateMask: ['state', 'state_reason'],
      }),
    );

  account
    .command('resume <account>')
    .description('Resume a suspended account.')
    .action((accountId: string) => update(cli, { accountId, state: AccountState.ACCOUNT_STATE_ACTIVE, updateMask: ['state'] }));

  return account;
}

function update(cli: Cli, change: DeepPartial<UpdateAccountRequest>): Promise<void> {
  return cli.withServices(async ({ auth }) => {
    const response = await auth.updateAccount(UpdateAccountRequest.fromPartial(change), operatorCall());
    cli.out.show(accountView, response.account!);
  });
}

/** Returns undefined while the ledger is unavailable: auth keeps the accounts, so they can be listed without it. */
async function balancesOf(accounts: readonly Account[], ledger: Services['ledger']): Promise<readonly Balance[] | undefined> {
  if (accounts.length === 0) return [];
  const response = ledger.batchGetBalances({ accountIds: accounts.map(({ id }) => id) }, operatorCall());
  return (await unlessUnavailable(response))?.balances;
}
