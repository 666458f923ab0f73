// The project of keys and calls that name none.

/** Returns the id of an account's default project, which has the digits of the account's id. */
export function defaultProjectId(accountId: string): string {
  return accountId.replace(/^acct_/, 'proj_');
}
