// Whether the acting user still may do what their actor token says.
import type { Knex } from 'knex';
import { fault } from '#client/errors/fault.js';
import { idToBytes } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { UserDeps } from './deps.js';

/**
 * Locks the acting user until the transaction ends. Raises role_not_permitted for a user who was disabled, or is no longer an operator, since their actor
 * token was signed: they could undo the change that took their role.
 */
export async function lockActor(tx: Knex.Transaction, { actor }: CallContext, { users }: Pick<UserDeps, 'users'>): Promise<void> {
  if (actor === undefined) return;
  const present = (await users.lock(tx, idToBytes('user', actor.userId)!))?.user;
  if (present === undefined || present.isDisabled || (actor.isOperator && !present.isOperator)) throw fault('role_not_permitted', {});
}
