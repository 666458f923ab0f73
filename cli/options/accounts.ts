// Determines which account a command applies to.
import type { Command } from 'commander';
import { ListAccountsRequest } from '#proto/auth/v1/auth.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { unlessUnavailable } from '../unavailable.js';

/** Adds --account. */
export function withAccount(command: Command): Command {
  return command.option('--account <id>', 'the account; optional when there is only one');
}

const checkTimeoutMs = 2000;

/**
 * Raises not_found if a given account does not exist: the ledger and metering know accounts only by their ids, and would take any. While auth
 * is unavailable it is not checked, because money must not depend on auth.
 */
export async function assertAccount(auth: Services['auth'], given: string | undefined): Promise<void> {
  if (given === undefined) return;
  await unlessUnavailable(auth.getAccount({ accountId: given }, operatorCall(checkTimeoutMs)));
}

/** Returns the given account id, or that of the only account. Raises not_found, and a CliError when there is no account or more than one. */
export async function chooseAccount(auth: Services['auth'], given: string | undefined): Promise<string> {
  await assertAccount(auth, given);
  if (given !== undefined) return given;
  const { accounts } = await auth.listAccounts(ListAccountsRequest.fromPartial({ pageSize: 2 }), operatorCall());
  const [first, second] = accounts;
  if (first === undefined) throw new CliError('There is no account yet.', { fix: 'Create one with `tollgate account create <name>`.' });
  if (second !== undefined) {
    throw new CliError('There are several accounts; choose one with --account.', {
      fix: '`tollgate account list` shows them.',
      exitCode: 2,
    });
  }
  return first.id;
}
