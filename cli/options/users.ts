// Determines which user a command applies to.
import { ListUsersRequest, type User } from '#proto/auth/v1/users.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';

/** The option for what grants rights to a user whose address nobody has verified. */
export const unverifiedOption = ['--unverified', 'also if nobody has verified that the address is that of the user'] as const;

/** Raises a CliError for a user whose address nobody has verified, unless the option was given. */
export function assertVerified({ email, emailVerified }: User, { unverified }: { readonly unverified?: boolean }): void {
  if (emailVerified || unverified === true) return;
  throw new CliError(`The address ${email} is unverified: a user has entered it, but it could be anyone's.`, {
    fix: 'Make sure that this is the right user, then add --unverified.',
  });
}

/** Returns the user with this email address. Raises a CliError when there is none. */
export async function userByEmail(users: Services['users'], email: string): Promise<User> {
  const [user] = (await users.listUsers(ListUsersRequest.fromPartial({ email, pageSize: 1 }), operatorCall())).users;
  if (user === undefined)
    throw new CliError(`There is no user with the email address ${email}.`, { fix: `Add them: tollgate user add ${email}` });
  return user;
}
