// A new user.
import { newId } from '#kit/id.js';
import type { User } from '#proto/auth/v1/users.js';

type Fields = Pick<User, 'email' | 'name' | 'hasPassword' | 'emailVerified'> & Partial<Pick<User, 'isOperator'>>;

/** Returns an enabled user with these fields and without a second factor, not stored yet. */
export function newUserOf(fields: Fields, nowMs: number): User {
  const createdAtMs = BigInt(nowMs);
  return { isOperator: false, ...fields, id: newId('user', nowMs), isDisabled: false, createdAtMs, hasSecondFactor: false };
}
