// tollgate management-key: the keys with which programs use the console's API.
import { Command, InvalidArgumentError } from 'commander';
import { CreateManagementKeyRequest } from '#proto/auth/v1/users.js';
import { scopes } from '#rules/access/scopes.js';
import { chooseAccount, withAccount } from '../options/accounts.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { parseAddresses, parseInstant, parseList } from '../options/parse.js';
import { managementKeyView } from '../views/management-key.js';
import { userByEmail } from '../options/users.js';

interface CreateOptions {
  readonly account?: string;
  readonly name: string;
  readonly user: string;
  readonly scopes: string[];
  readonly project?: string;
  readonly addresses?: string[];
  readonly expires?: bigint;
}

/** The noun `management-key`. */
export function managementKeyCommand(cli: Cli): Command {
  const managementKey = new Command('management-key').description(
    "Keys with which programs create platform keys and read usage through the console's API.",
  );

  withAccount(managementKey.command('create'))
    .description('Create a management key. Its secret is shown only once.')
    .requiredOption('--name <name>', 'a name to recognise the key')
    .requiredOption(
      '--user <email>',
      'the member for whom it acts: it may do what both the scopes and the current role of this member permit',
    )
    .requiredOption('--scopes <list>', `separated by commas: ${scopes.join(', ')}`, parseScopes)
    .option('--project <id>', 'only this project')
    .option(
      '--addresses <list>',
      'only from these IP addresses and CIDR blocks, separated by commas; from anywhere by default',
      parseAddresses,
    )
    .option('--expires <when>', 'when it expires, for example 30d or 2027-01-31', (text: string) =>
      parseInstant(text, cli.world.nowMs(), 'ahead'),
    )
    .action((options: CreateOptions) =>
      cli.withServices(async ({ auth, users }) => {
        const request = CreateManagementKeyRequest.fromPartial({
          accountId: await chooseAccount(auth, options.account),
          name: options.name,
          userId: (await userByEmail(users, options.user)).id,
          scopes: options.scopes,
          projectId: options.project ?? '',
          allowedAddresses: options.addresses ?? [],
          expiresAtMs: options.expires,
        });
        const { key, secret } = await users.createManagementKey(request, operatorCall());
        cli.out.show(managementKeyView(cli.world.nowMs()), key!, { secret });
        cli.out.note(`\nsecret  ${secret}\n\nCopy the secret now: it is not stored and cannot be shown again.`);
      }),
    );

  withAccount(managementKey.command('list'))
    .description('List the management keys of an account, newest first.')
    .action((options: { account?: string }) =>
      cli.withServices(async ({ auth, users }) => {
        const { keys } = await users.listManagementKeys({ accountId: await chooseAccount(auth, options.account) }, operatorCall());
        cli.out.list(managementKeyView(cli.world.nowMs()), keys);
      }),
    );

  withAccount(managementKey.command('revoke <key>'))
    .description('Revoke a management key immediately and permanently.')
    .action((keyId: string, options: { account?: string }) =>
      cli.withServices(async ({ auth, users }) => {
        const request = { accountId: await chooseAccount(auth, options.account), keyId };
        const { key } = await users.revokeManagementKey(request, operatorCall());
        cli.out.show(managementKeyView(cli.world.nowMs()), key!);
      }),
    );

  return managementKey;
}

function parseScopes(text: string): string[] {
  const wanted = parseList(text);
  const unknown = wanted.find((scope) => !scopes.some((known) => known === scope));
  if (unknown !== undefined) throw new InvalidArgumentError(`Unknown scope ${unknown}. Valid scopes: ${scopes.join(', ')}.`);
  return wanted;
}
