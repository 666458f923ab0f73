// The search for refused calls, and the grouping of their counts.
import { hasReason } from '#client/errors/app-error.js';
import { fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { isId } from '#kit/id.js';
import {
  type GetRefusalTotalsRequest,
  type ListRefusalsResponse,
  type Refusal,
  type RefusalFilter,
  RefusalGroupBy,
} from '#proto/metering/v1/metering.js';
import { isReason } from '#rules/errors/reasons.js';
import type { GatewayPeers } from '../../peers.js';
import { words } from '../render/words.js';
import type { RefusalSearch, RefusalTotals } from '../schemas/refusals.js';
import { instantOf, offsetOf, projectsOf, type Visible } from './usage-filter.js';

type Peers = { readonly metering: Pick<GatewayPeers['metering'], 'listRefusals' | 'getRefusal'> };

/** Returns the filter for metering. Raises invalid_request with the name of the parameter. */
function refusalFilterOf(query: Omit<RefusalSearch, 'request_id'>, visible: Visible): RefusalFilter {
  const { project, key = '', model = '', reason = '' } = query;
  if (reason !== '' && !isReason(reason)) throw fieldFault('reason', 'known');
  return {
    accountId: visible.accountId,
    projectIds: projectsOf(project, visible),
    keyId: key,
    modelId: model,
    reason,
    fromMs: instantOf('from', query.from),
    untilMs: instantOf('until', query.until),
  };
}

/** Returns the request for counts. Raises invalid_request with the name of the parameter. */
export function refusalTotalsOf(query: RefusalTotals, visible: Visible): GetRefusalTotalsRequest {
  const { group_by: groupBy, then_by: thenBy, tz_offset: offset } = query;
  if (thenBy !== undefined && groupBy === undefined) throw fieldFault('then_by', 'needs_group_by');
  if (thenBy !== undefined && thenBy === groupBy) throw fieldFault('then_by', 'other_group');
  const value = (word: typeof groupBy): RefusalGroupBy =>
    word === undefined ? RefusalGroupBy.REFUSAL_GROUP_BY_UNSPECIFIED : words.refusalGroupBy.value(word);
  return { filter: refusalFilterOf(query, visible), groupBy: value(groupBy), thenBy: value(thenBy), offsetMinutes: offsetOf(offset) };
}

/** Returns a page of matching refusals, newest first; with a request id, that one if it matches. */
export async function searchRefusals(
  query: RefusalSearch,
  visible: Visible,
  page: { pageSize: number; pageToken: string },
  { metering }: Peers,
  context: CallContext,
): Promise<ListRefusalsResponse> {
  const filter = refusalFilterOf(query, visible);
  const requestId = (query.request_id ?? '').trim();
  if (requestId === '') return metering.listRefusals({ filter, ...page }, context);
  if (!isId('req', requestId)) throw fieldFault('request_id', 'whole_request_id');
  try {
    const refusal = (await metering.getRefusal({ requestId, accountId: visible.accountId }, context)).refusal!;
    return { refusals: fits(refusal, filter) ? [refusal] : [], nextPageToken: '' };
  } catch (error) {
    // A search that finds nothing returns an empty list.
    if (hasReason(error, 'not_found')) return { refusals: [], nextPageToken: '' };
    throw error;
  }
}

function fits({ projectId, keyId, modelId, reason, refusedAtMs }: Refusal, filter: RefusalFilter): boolean {
  return (
    (filter.projectIds.length === 0 || filter.projectIds.includes(projectId)) &&
    (filter.keyId === '' || keyId === filter.keyId) &&
    (filter.modelId === '' || modelId === filter.modelId) &&
    (filter.reason === '' || reason === filter.reason) &&
    refusedAtMs >= filter.fromMs &&
    (filter.untilMs === 0n || refusedAtMs < filter.untilMs)
  );
}
