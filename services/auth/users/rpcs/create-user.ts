// CreateUser: adds a user.
import type { CallContext } from '#client/call-context.js';
import type { CreateUserRequest, CreateUserResponse } from '#proto/auth/v1/users.js';
import { checkedName } from '../../requests/fields.js';
import { userDetail } from '../audit/audit-details.js';
import type { UserDeps } from '../deps.js';
import { checkedEmail, checkedPassword } from '../fields.js';
import { newUserOf } from '../new-user.js';
import { hashPassword } from '../passwords/password.js';

/** Raises invalid_request, already_exists and overloaded. */
export async function createUser(
  request: CreateUserRequest,
  context: CallContext,
  { audit, db, users, clock, log }: UserDeps,
): Promise<CreateUserResponse> {
  const { isOperator } = request;
  const [email, name, hasPassword] = [checkedEmail(request.email), checkedName(request.name), request.password !== ''];
  const user = newUserOf({ email, name, isOperator, hasPassword, emailVerified: true }, clock.nowMs());
  const password = hasPassword ? await hashPassword(checkedPassword(request.password)) : undefined;
  await db.transaction(async (tx) => {
    await users.add(tx, { user, password });
    const detail = { ...userDetail(user), has_password: user.hasPassword };
    await audit.append(tx, context, { action: 'user.create', targetId: user.id, detail });
  });
  log.info({ user_id: user.id, is_operator: user.isOperator }, 'user created');
  return { user };
}
