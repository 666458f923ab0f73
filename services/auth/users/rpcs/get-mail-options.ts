// GetMailOptions: whether mail can be sent here.
import type { CallContext } from '#client/call-context.js';
import type { GetMailOptionsRequest, GetMailOptionsResponse } from '#proto/auth/v1/users.js';
import type { PeopleDeps } from '../deps.js';

/** Raises nothing. */
export async function getMailOptions(
  _request: GetMailOptionsRequest,
  _context: CallContext,
  { mailSender }: PeopleDeps,
): Promise<GetMailOptionsResponse> {
  return { canMail: mailSender.address('') !== undefined };
}
