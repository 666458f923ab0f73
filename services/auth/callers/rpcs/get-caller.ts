// GetCaller: returns one caller.
import type { CallContext } from '#client/call-context.js';
import type { GetCallerRequest, GetCallerResponse } from '#proto/auth/v1/callers.js';
import { found } from '../../requests/found.js';
import type { CallerDeps } from '../deps.js';

/** Raises not_found. */
export async function getCaller(request: GetCallerRequest, _context: CallContext, { callers }: CallerDeps): Promise<GetCallerResponse> {
  return { caller: found(await callers.find(request.name), 'caller') };
}
