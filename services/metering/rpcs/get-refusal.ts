// GetRefusal: one refused call by request id.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { GetRefusalRequest, GetRefusalResponse } from '#proto/metering/v1/metering.js';
import { includesProject, projectsOf } from '#kit/rpc/access/projects.js';
import type { RpcDeps } from '../deps.js';
import { requireId } from '../requests/validate-call.js';
import { findRefusal } from '../store/refusals/refusal-queries.js';

/** Raises not_found if none is stored, or if it belongs to another account than the requested one or to a project that the user may not see. */
export async function getRefusal(request: GetRefusalRequest, context: CallContext, { db }: RpcDeps): Promise<GetRefusalResponse> {
  const { requestId, accountId } = request;
  requireId('req', requestId, 'request_id');
  if (accountId !== '') requireId('acct', accountId, 'account_id');
  const refusal = await findRefusal(db, requestId);
  const isVisible = refusal !== undefined && includesProject(projectsOf(context, refusal.accountId, 'viewer'), refusal.projectId);
  if (!isVisible || (accountId !== '' && refusal.accountId !== accountId)) throw fault('no_such_id', { what: 'refusal' });
  return { refusal };
}
