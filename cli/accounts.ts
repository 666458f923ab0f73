// Which account a command means.
import type { Command } from 'commander';
import { ListAccountsRequest } from '#proto/auth/v1/auth.js';
import { operatorCall, type Services } from './connect.js';
import { CliError } from './errors.js';

/** Adds --account. */
export function withAccount(command: Command): Command {
  return command.option('--account <id>', 'whose; may be left out when there is only one account');
}

/** The account's id: the given one, or the only one there is. Raises a CliError when that is not clear. */
export async function chooseAccount(auth: Services['auth'], given: string | undefined): Promise<string> {
  if (given !== undefined) return given;
  const { accounts } = await auth.listAccounts(ListAccountsRequest.fromPartial({ pageSize: 2 }), operatorCall());
  const [first, second] = accounts;
  if (first === undefined) throw new CliError('There is no account yet.', { fix: 'Make one with `tollgate account create <name>`.' });
  if (second !== undefined) {
    throw new CliError('There are several accounts; say which with --account.', {
      fix: '`tollgate account list` shows them.',
      exitCode: 2,
    });
  }
  return first.id;
}
