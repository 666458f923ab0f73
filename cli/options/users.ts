// Determines which user a command applies to.
import { ListUsersRequest, type User } from '#proto/auth/v1/users.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';

/** Returns the user with this email address. Raises a CliError when there is none. */
export async function userByEmail(users: Services['users'], email: string): Promise<User> {
  const [user] = (await users.listUsers(ListUsersRequest.fromPartial({ email, pageSize: 1 }), operatorCall())).users;
  if (user === undefined)
    throw new CliError(`There is no user with the email address ${email}.`, { fix: `Add them: tollgate user add ${email}` });
  return user;
}
