// The search for records in a list or an export: those that match the filter, or the one with ?request_id=, if it matches the rest of the filter.
import { hasReason } from '#client/errors/app-error.js';
import { fieldFault } from '#client/errors/fault.js';
import { isId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import {
  Outcome,
  type ListUsageRecordsResponse,
  type RecordOrder,
  type UsageFilter,
  type UsageRecord,
} from '#proto/metering/v1/metering.js';
import type { GatewayPeers } from '../../peers.js';
import type { RecordSearch as Query } from '../schemas/usage.js';
import { usageFilterOf, type Visible } from './usage-filter.js';

type Peers = { readonly metering: Pick<GatewayPeers['metering'], 'listUsageRecords' | 'getUsageRecord'> };

/** Holds a filter and a request id. */
export interface RecordSearch {
  readonly filter: UsageFilter;
  /** Empty: any. */
  readonly requestId: string;
}

/** Parses the search of a request. Raises invalid_request with the name of the parameter. */
export function recordSearchOf(query: Query, visible: Visible, keyIds?: readonly string[]): RecordSearch {
  const requestId = (query.request_id ?? '').trim();
  if (requestId !== '' && !isId('req', requestId)) throw fieldFault('request_id', 'whole_request_id');
  return { filter: usageFilterOf(query, visible, keyIds), requestId };
}

/** Returns a page of matching records, newest first or in the order of the page. */
export async function searchRecords(
  { filter, requestId }: RecordSearch,
  page: { pageSize: number; pageToken: string; orderBy?: RecordOrder },
  { metering }: Peers,
  context: CallContext,
): Promise<ListUsageRecordsResponse> {
  if (requestId === '') return metering.listUsageRecords({ filter, ...page }, context);
  const record = await findOne(requestId, filter.accountId, metering, context);
  return { records: record !== undefined && fits(record, filter) ? [record] : [], nextPageToken: '', newestOnly: false };
}

async function findOne(
  callId: string,
  accountId: string,
  metering: Peers['metering'],
  context: CallContext,
): Promise<UsageRecord | undefined> {
  try {
    return (await metering.getUsageRecord({ callId, accountId }, context)).record;
  } catch (error) {
    // A search that finds nothing returns an empty list.
    if (hasReason(error, 'not_found')) return undefined;
    throw error;
  }
}

/** Reports whether a record of the account matches the filter. */
function fits({ call, outcome }: UsageRecord, filter: UsageFilter): boolean {
  return (
    (filter.projectIds.length === 0 || filter.projectIds.includes(call!.projectId)) &&
    (filter.keyIds.length === 0 || filter.keyIds.includes(call!.keyId)) &&
    (filter.keyId === '' || call!.keyId === filter.keyId) &&
    (filter.modelId === '' || call!.modelId === filter.modelId) &&
    (filter.fromMs === 0n || call!.startedAtMs >= filter.fromMs) &&
    (filter.untilMs === 0n || call!.startedAtMs < filter.untilMs) &&
    (filter.outcome === Outcome.OUTCOME_UNSPECIFIED || outcome === filter.outcome)
  );
}
