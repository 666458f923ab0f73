// tollgate member: the members of an account and their roles.
import { Command, InvalidArgumentError } from 'commander';
import { Role } from '#proto/auth/v1/users.js';
import { chooseAccount, withAccount } from '../options/accounts.js';
import { assertVerified, unverifiedOption, userByEmail } from '../options/users.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { wordsOf } from '../options/parse.js';
import { memberView } from '../views/user.js';

const roles = wordsOf<Role>(Role, 'ROLE_');

/** The noun `member`. */
export function memberCommand(cli: Cli): Command {
  const member = new Command('member').description(
    'The members of an account. Roles: owner, admin, developer, billing, viewer, or member for roles in projects only.',
  );

  withAccount(member.command('put <email>'))
    .description("Add a user as a member, or change the member's role. The first member must be an owner.")
    .requiredOption('--role <role>', roles.all.join(', '), roles.parse)
    .option(...unverifiedOption)
    .action((email: string, options: { account?: string; role: Role; unverified?: boolean }) =>
      cli.withServices(async ({ auth, users }) => {
        const accountId = await chooseAccount(auth, options.account);
        const user = await userByEmail(users, email);
        assertVerified(user, options);
        const response = await users.putMember({ accountId, userId: user.id, role: options.role }, operatorCall());
        cli.out.show(memberView, response.member!);
      }),
    );

  member
    .command('project <email> <project>')
    .description('Give a member a role in one project, in addition to the role in the account.')
    .requiredOption('--role <role>', 'developer (manages its keys), viewer, or none', parseProjectRole)
    .action((email: string, projectId: string, { role }: { role: Role }) =>
      cli.withServices(async ({ auth, users }) => {
        const { accountId } = (await auth.getProject({ projectId, accountId: '' }, operatorCall())).project!;
        const { id: userId } = await userByEmail(users, email);
        const response = await users.putProjectMember({ accountId, projectId, userId, role }, operatorCall());
        cli.out.show(memberView, response.member!);
      }),
    );

  withAccount(member.command('list'))
    .description('List the members of an account.')
    .action((options: { account?: string }) =>
      cli.withServices(async ({ auth, users }) => {
        const { members } = await users.listMembers({ accountId: await chooseAccount(auth, options.account) }, operatorCall());
        cli.out.list(memberView, members);
      }),
    );

  withAccount(member.command('remove <email>'))
    .description('Remove a member. Keys are kept, because they belong to the account.')
    .action((email: string, options: { account?: string }) =>
      cli.withServices(async ({ auth, users }) => {
        const accountId = await chooseAccount(auth, options.account);
        const { id: userId } = await userByEmail(users, email);
        await users.deleteMember({ accountId, userId }, operatorCall());
        cli.out.note(`${email} is no longer a member of the account.`);
      }),
    );

  return member;
}

function parseProjectRole(text: string): Role {
  const role = { developer: Role.ROLE_DEVELOPER, viewer: Role.ROLE_VIEWER, none: Role.ROLE_UNSPECIFIED }[text];
  if (role === undefined) throw new InvalidArgumentError('The role must be developer, viewer or none.');
  return role;
}
