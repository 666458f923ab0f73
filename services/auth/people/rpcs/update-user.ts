// UpdateUser: renames, disables, enables, gives another address, or makes an operator.
import type { CallContext } from '#kit/rpc/call-context.js';
import type { UpdateUserRequest, UpdateUserResponse } from '#proto/auth/v1/people.js';
import { checkedName } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import type { PeopleDeps } from '../deps.js';
import { checkedEmail, checkedId } from '../fields.js';

/** Raises invalid_request, not_found and already_exists. */
export async function updateUser(request: UpdateUserRequest, _context: CallContext, { people, sessions, log }: PeopleDeps): Promise<UpdateUserResponse> {
  const id = checkedId('user_id', 'user', request.userId);
  const { isDisabled, isOperator } = request;
  const name = request.name === undefined ? undefined : checkedName(request.name);
  const email = request.email === undefined ? undefined : checkedEmail(request.email);
  const user = found(await people.update(id, { name, isDisabled, isOperator, ...(email === undefined ? {} : { email, emailIsProven: true }) }), 'user');
  // Sessions ask for their person each time, so that disabling acts at once; without the sessions it also acts for good.
  if (isDisabled === true) await sessions.end(id, { butId: undefined });
  log.info({ user_id: user.id, is_disabled: user.isDisabled, is_operator: user.isOperator }, 'person updated');
  return { user };
}
