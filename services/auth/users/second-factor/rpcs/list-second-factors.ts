// ListSecondFactors: lists the second factors of a user.
import type { CallContext } from '#client/call-context.js';
import type { ListSecondFactorsRequest, ListSecondFactorsResponse } from '#proto/auth/v1/users.js';
import type { UserDeps } from '../../deps.js';
import { checkedId } from '../../../requests/fields.js';

/** Raises invalid_request. */
export async function listSecondFactors(
  request: ListSecondFactorsRequest,
  _context: CallContext,
  { factors }: UserDeps,
): Promise<ListSecondFactorsResponse> {
  const userId = checkedId('user_id', 'user', request.userId);
  return { factors: (await factors.list(userId)).map(({ factor }) => factor), recoveryCodesLeft: await factors.codesLeft(userId) };
}
