// BatchGetKeyActivity: the latest record and the current refusals of each of several keys of an account, as far as the user may see them.
import type { CallContext } from '#client/call-context.js';
import { type BatchGetKeyActivityRequest, type BatchGetKeyActivityResponse, KeyActivity } from '#proto/metering/v1/metering.js';
import { projectsOf } from '#kit/rpc/access/projects.js';
import type { RpcDeps } from '../deps.js';
import { findLastOfKeys } from '../store/records/key-activity.js';
import { findRefusals } from '../store/refusals/refused-keys.js';
import { requireId, requireThat } from '../requests/validate-call.js';

const keysMax = 200;

/** Raises invalid_request for malformed ids, none, or too many. */
export async function batchGetKeyActivity(
  request: BatchGetKeyActivityRequest,
  context: CallContext,
  { db, clock }: RpcDeps,
): Promise<BatchGetKeyActivityResponse> {
  const { accountId, keyIds } = request;
  requireId('acct', accountId, 'account_id');
  requireThat(keyIds.length > 0 && keyIds.length <= keysMax, 'key_ids', `must be 1 to ${keysMax}`);
  for (const keyId of keyIds) requireId('key', keyId, 'key_ids');
  const distinct = [...new Set(keyIds)];
  const projects = projectsOf(context, accountId, 'viewer');
  const [used, refusals] = await Promise.all([
    findLastOfKeys(db, accountId, distinct, projects),
    findRefusals(db, accountId, distinct, projects, clock.nowMs()),
  ]);
  for (const activity of used) {
    const refusing = refusals.get(activity.keyId);
    if (refusing !== undefined && refusing.lastAtMs > activity.lastStartedAtMs) activity.refusing = refusing;
    refusals.delete(activity.keyId);
  }
  return { keys: [...used, ...[...refusals].map(([keyId, refusing]) => KeyActivity.fromPartial({ keyId, refusing }))] };
}
