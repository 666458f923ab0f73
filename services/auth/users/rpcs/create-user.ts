// CreateUser: adds a user.
import { newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { CreateUserRequest, CreateUserResponse } from '#proto/auth/v1/users.js';
import { checkedName } from '../../requests/fields.js';
import { userDetail } from '../audit-details.js';
import type { UserDeps } from '../deps.js';
import { checkedEmail, checkedPassword } from '../fields.js';
import { hashPassword } from '../password.js';

/** Raises invalid_request, already_exists and overloaded. */
export async function createUser(
  request: CreateUserRequest,
  context: CallContext,
  { audit, db, users, clock, log }: UserDeps,
): Promise<CreateUserResponse> {
  const nowMs = clock.nowMs();
  const user = {
    id: newId('user', nowMs),
    email: checkedEmail(request.email),
    name: checkedName(request.name),
    isOperator: request.isOperator,
    isDisabled: false,
    hasPassword: request.password !== '',
    createdAtMs: BigInt(nowMs),
    emailVerified: true,
    hasSecondFactor: false,
  };
  const password = request.password === '' ? undefined : await hashPassword(checkedPassword(request.password));
  await db.transaction(async (tx) => {
    await users.add(tx, { user, password });
    const detail = { ...userDetail(user), has_password: user.hasPassword };
    await audit.append(tx, context, { action: 'user.create', targetId: user.id, detail });
  });
  log.info({ user_id: user.id, is_operator: user.isOperator }, 'user created');
  return { user };
}
