// tollgate console: sign-in links to the console.
import { Command } from 'commander';
import { pagesOf } from '#kit/pages.js';
import type { User } from '#proto/auth/v1/users.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { userByEmail } from '../options/users.js';
import { instant, instantJson } from '../output.js';

const pageSize = 1000;

/** The noun `console`. */
export function consoleCommand(cli: Cli): Command {
  const console = new Command('console').description('Sign-in links to the console.');
  console
    .command('link [email]')
    .description('Create a link that signs a user in once; without an email address, the operator, if there is only one.')
    .action((email?: string) =>
      cli.withServices(async ({ users }) =>
        showLink(cli, users, email === undefined ? await onlyOperator(users) : await userByEmail(users, email)),
      ),
    );
  return console;
}

/** Creates a link for this user and shows it. */
export async function showLink(cli: Cli, users: Services['users'], { email }: User): Promise<void> {
  const { token, expiresAtMs } = await users.createSignInLink({ email, sendMail: false, language: '' }, operatorCall());
  // In the fragment, which browsers do not send, so that no access log contains it.
  const url = `${cli.config().publicUrl}/console/link#${token}`;
  cli.out.show({ json: () => ({ email, url, token, expires_at: instantJson(expiresAtMs) }), columns: [], details: [] }, {});
  cli.out.note(`link     ${url}\nexpires  ${instant(expiresAtMs)}\n\nIt can be used once, and signs in as ${email}.`);
}

/** Returns the only operator. Raises a CliError when there is none, or more than one. */
async function onlyOperator(users: Services['users']): Promise<User> {
  const all: User[] = [];
  for await (const page of pagesOf((pageToken) => users.listUsers({ email: '', search: '', pageSize, pageToken }, operatorCall())))
    all.push(...page.users.filter(({ isOperator }) => isOperator));
  const operators = all.filter(({ isDisabled }) => !isDisabled);
  if (operators.length === 0 && all.length > 0) {
    throw new CliError(all.length === 1 ? `The only operator, ${all[0]!.email}, is disabled.` : 'All operators are disabled.', {
      fix: `Enable one: tollgate user enable ${all[0]!.email}`,
    });
  }
  if (operators.length === 0)
    throw new CliError('There is no operator yet.', { fix: 'Add one: tollgate user add you@example.com --operator' });
  if (operators.length > 1) {
    throw new CliError(
      `There are several operators: ${operators
        .slice(0, 10)
        .map(({ email }) => email)
        .join(', ')}.`,
      { fix: `Choose one: tollgate console link ${operators[0]!.email}` },
    );
  }
  return operators[0]!;
}
