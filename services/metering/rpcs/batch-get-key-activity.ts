// BatchGetKeyActivity: the latest record of each of several keys of an account, as far as the user may see it.
import type { CallContext } from '#client/call-context.js';
import type { BatchGetKeyActivityRequest, BatchGetKeyActivityResponse } from '#proto/metering/v1/metering.js';
import { projectsOf } from '#kit/rpc/access/projects.js';
import type { RpcDeps } from '../deps.js';
import { findLastOfKeys } from '../store/key-activity.js';
import { requireId, requireThat } from '../requests/validate-call.js';

const keysMax = 200;

/** Raises invalid_request for malformed ids, none, or too many. */
export async function batchGetKeyActivity(
  request: BatchGetKeyActivityRequest,
  context: CallContext,
  { db }: RpcDeps,
): Promise<BatchGetKeyActivityResponse> {
  const { accountId, keyIds } = request;
  requireId('acct', accountId, 'account_id');
  requireThat(keyIds.length > 0 && keyIds.length <= keysMax, 'key_ids', `must be 1 to ${keysMax}`);
  for (const keyId of keyIds) requireId('key', keyId, 'key_ids');
  return { keys: await findLastOfKeys(db, accountId, [...new Set(keyIds)], projectsOf(context, accountId, 'viewer')) };
}
