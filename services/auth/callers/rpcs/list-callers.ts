// ListCallers: lists all callers.
import type { CallContext } from '#client/call-context.js';
import type { ListCallersRequest, ListCallersResponse } from '#proto/auth/v1/callers.js';
import type { CallerDeps } from '../deps.js';

/** Returns the callers by name, revoked ones included. */
export async function listCallers(
  _request: ListCallersRequest,
  _context: CallContext,
  { callers }: CallerDeps,
): Promise<ListCallersResponse> {
  return { callers: await callers.list() };
}
