// Which records a page or a file is about: the filter's, or the one that ?request_id= names, if it fits the rest of the filter.
import type { Context } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { isId } from '#kit/id.js';
import { type CallContext } from '#client/call-context.js';
import { Outcome, type ListUsageRecordsResponse, type UsageFilter, type UsageRecord } from '#proto/metering/v1/metering.js';
import { contextOf } from './call-contexts.js';
import type { ConsoleDeps } from './deps.js';
import { queryText } from './paging.js';
import { usageFilterOf } from './usage-filter.js';

/** What is searched for. */
export interface RecordSearch {
  readonly filter: UsageFilter;
  /** Empty: any. */
  readonly requestId: string;
}

/** Reads the address. Raises invalid_request that names the parameter. */
export function recordSearchOf(ctx: Context, accountId: string): RecordSearch {
  const requestId = queryText(ctx, 'request_id').trim();
  if (requestId !== '' && !isId('req', requestId)) {
    throw new AppError('invalid_request', 'request_id: must be the whole id of a call, req_ and 32 hexadecimal digits', {
      details: { field: 'request_id' },
    });
  }
  return { filter: usageFilterOf(ctx, accountId), requestId };
}

/** A page of what is found, newest first. */
export async function searchRecords(
  { filter, requestId }: RecordSearch,
  page: { pageSize: number; pageToken: string },
  { peers, config }: ConsoleDeps,
): Promise<ListUsageRecordsResponse> {
  const context = contextOf({ config });
  if (requestId === '') return peers.metering.listUsageRecords({ filter, ...page }, context);
  const record = await findOne(requestId, filter.accountId, peers.metering, context);
  return { records: record !== undefined && fits(record, filter) ? [record] : [], nextPageToken: '' };
}

async function findOne(
  callId: string,
  accountId: string,
  metering: ConsoleDeps['peers']['metering'],
  context: CallContext,
): Promise<UsageRecord | undefined> {
  try {
    return (await metering.getUsageRecord({ callId, accountId }, context)).record;
  } catch (error) {
    // That nothing is found is what a search says with an empty list.
    if (error instanceof AppError && error.reason === 'not_found') return undefined;
    throw error;
  }
}

/** Whether a record of the account is one of the filter's. */
export function fits({ call, outcome }: UsageRecord, filter: UsageFilter): boolean {
  return (
    (filter.keyId === '' || call!.keyId === filter.keyId) &&
    (filter.modelId === '' || call!.modelId === filter.modelId) &&
    (filter.fromMs === 0n || call!.startedAtMs >= filter.fromMs) &&
    (filter.untilMs === 0n || call!.startedAtMs < filter.untilMs) &&
    (filter.outcome === Outcome.OUTCOME_UNSPECIFIED || outcome === filter.outcome)
  );
}
