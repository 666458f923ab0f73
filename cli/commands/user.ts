// tollgate user: the users of the console.
import { Command } from 'commander';
import { CreateUserRequest, UpdateUserRequest, type User } from '#proto/auth/v1/users.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { assertVerified, unverifiedOption, userByEmail } from '../options/users.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { userView } from '../views/user.js';
import { showLink } from './console.js';

interface AddOptions {
  readonly name?: string;
  readonly operator?: boolean;
  readonly passwordStdin?: boolean;
}

/** The noun `user`. */
export function userCommand(cli: Cli): Command {
  const user = new Command('user').description('The users of the console.');

  user
    .command('add <email>')
    .description('Add a user. Without a password the user signs in with a link, see `user link`.')
    .option('--name <name>', 'the display name; the email address by default')
    .option('--operator', 'make the user an operator, with access to everything')
    .option('--password-stdin', 'read a password from standard input')
    .action((email: string, options: AddOptions) => add(cli, email, options));

  withPaging(user.command('list'))
    .description('List users, in order of creation.')
    .option('--search <text>', 'only users whose name or email address contains this')
    .action((options: PageOptions & { search?: string }) =>
      cli.withServices(({ users }) =>
        listPages(cli, userView, options, async (pageSize, pageToken) => {
          const request = { email: '', search: options.search ?? '', pageSize, pageToken };
          const response = await users.listUsers(request, operatorCall());
          return { items: response.users, nextPageToken: response.nextPageToken };
        }),
      ),
    );

  user
    .command('link <email>')
    .description('Create a link that signs a user in once.')
    .action((email: string) => cli.withServices(async ({ users }) => showLink(cli, users, await userByEmail(users, email))));

  user
    .command('email <email> <new>')
    .description('Change the email address of a user. The new address counts as verified.')
    .action((email: string, wanted: string) => update(cli, email, { email: wanted, updateMask: ['email'] }));

  for (const [name, isDisabled, what] of [
    ['disable', true, 'Disable a user and sign them out everywhere.'],
    ['enable', false, 'Enable a disabled user.'],
  ] as const) {
    user
      .command(`${name} <email>`)
      .description(what)
      .action((email: string) => update(cli, email, { isDisabled, updateMask: ['is_disabled'] }));
  }

  user
    .command('promote <email>')
    .description('Make a user an operator, with access to everything.')
    .option(...unverifiedOption)
    .action((email: string, options: { unverified?: boolean }) =>
      update(cli, email, { isOperator: true, updateMask: ['is_operator'] }, (present) => assertVerified(present, options)),
    );
  user
    .command('demote <email>')
    .description('Make an operator an ordinary user.')
    .action((email: string) => update(cli, email, { isOperator: false, updateMask: ['is_operator'] }));

  user
    .command('second-factor')
    .description('The second factors of users.')
    .command('remove <email>')
    .description(
      'Remove the authenticator app, the passkeys and the recovery codes of a user who has lost them. Verify the identity of the user first.',
    )
    .action((email: string) =>
      cli.withServices(async ({ users }) => {
        const { id } = await userByEmail(users, email);
        cli.out.show(userView, (await users.resetSecondFactors({ userId: id, language: '' }, operatorCall())).user!);
      }),
    );

  return user;
}

function add(cli: Cli, email: string, options: AddOptions): Promise<void> {
  return cli.withServices(async ({ users }) => {
    const password = options.passwordStdin === true ? (await cli.world.readStdin()).replace(/\r?\n$/, '') : '';
    const request = CreateUserRequest.fromPartial({ email, name: options.name ?? email, isOperator: options.operator === true, password });
    const { user } = await users.createUser(request, operatorCall());
    cli.out.show(userView, user!);
  });
}

function update(cli: Cli, email: string, change: Partial<UpdateUserRequest>, check: (present: User) => void = () => {}): Promise<void> {
  return cli.withServices(async ({ users }) => {
    const present = await userByEmail(users, email);
    check(present);
    const { user } = await users.updateUser(UpdateUserRequest.fromPartial({ userId: present.id, ...change }), operatorCall());
    cli.out.show(userView, user!);
  });
}
