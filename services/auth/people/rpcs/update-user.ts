// UpdateUser: renames, disables, enables, gives another address, or makes an operator.
import { AppError } from '#kit/errors/app-error.js';
import type { CallContext } from '#kit/rpc/call-context.js';
import type { UpdateUserRequest, UpdateUserResponse } from '#proto/auth/v1/people.js';
import { checkedName } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import type { PeopleDeps } from '../deps.js';
import { checkedEmail, checkedId } from '../fields.js';

/** Raises invalid_request, not_found, already_exists and failed_precondition. */
export async function updateUser(
  request: UpdateUserRequest,
  _context: CallContext,
  { people, sessions, log }: PeopleDeps,
): Promise<UpdateUserResponse> {
  const id = checkedId('user_id', 'user', request.userId);
  const { isDisabled, isOperator } = request;
  const name = request.name === undefined ? undefined : checkedName(request.name);
  const email = request.email === undefined ? undefined : checkedEmail(request.email);
  const change = { name, isDisabled, isOperator, ...(email === undefined ? {} : { email, emailIsProven: true }) };
  const changed = await (request.keepAnOperator ? people.updateKeepingAnOperator(id, change) : people.update(id, change));
  if (changed === false)
    throw new AppError('failed_precondition', 'This is the last operator who can sign in; make somebody else an operator first.');
  const user = found(changed, 'user');
  // Sessions ask for their person each time, so that disabling acts at once; without the sessions it also acts for good.
  if (isDisabled === true) await sessions.end(id, { butId: undefined });
  log.info({ user_id: user.id, is_disabled: user.isDisabled, is_operator: user.isOperator }, 'person updated');
  return { user };
}
