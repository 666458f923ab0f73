// tollgate member: who belongs to an account, in which role.
import { Command } from 'commander';
import { Role } from '#proto/auth/v1/users.js';
import { chooseAccount, withAccount } from '../accounts.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { wordsOf } from '../parse.js';
import { memberView } from '../views/people.js';
import { userByEmail } from './user.js';

const roles = wordsOf<Role>(Role, 'ROLE_');

/** The noun `member`. */
export function memberCommand(cli: Cli): Command {
  const member = new Command('member').description('Who belongs to an account: owner, admin, developer, billing or viewer.');

  withAccount(member.command('put <email>'))
    .description('Make a person a member, or change their role. The first member is an owner.')
    .requiredOption('--role <role>', roles.all.join(', '), roles.parse)
    .action((email: string, options: { account?: string; role: Role }) =>
      cli.withServices(async ({ auth, users }) => {
        const accountId = await chooseAccount(auth, options.account);
        const { id: userId } = await userByEmail(users, email);
        const response = await users.putMember({ accountId, userId, role: options.role }, operatorCall());
        cli.out.show(memberView, response.member!);
      }),
    );

  withAccount(member.command('list'))
    .description('The members of an account.')
    .action((options: { account?: string }) =>
      cli.withServices(async ({ auth, users }) => {
        const { members } = await users.listMembers({ accountId: await chooseAccount(auth, options.account) }, operatorCall());
        cli.out.list(memberView, members);
      }),
    );

  withAccount(member.command('remove <email>'))
    .description('End a membership. Keys stay, for they are the account’s.')
    .action((email: string, options: { account?: string }) =>
      cli.withServices(async ({ auth, users }) => {
        const accountId = await chooseAccount(auth, options.account);
        const { id: userId } = await userByEmail(users, email);
        await users.deleteMember({ accountId, userId }, operatorCall());
        cli.out.note(`${email} no longer belongs to the account.`);
      }),
    );

  return member;
}
