// The generated interface, one line per RPC.
import type { CallContext } from '#kit/rpc/call-context.js';
import type * as messages from '#proto/metering/v1/metering.js';
import type { RpcDeps } from './deps.js';
import { checkpointUsage } from './rpcs/checkpoint-usage.js';
import { getOutbox } from './rpcs/get-outbox.js';
import { getUsageRecord } from './rpcs/get-usage-record.js';
import { getUsageTotals } from './rpcs/get-usage-totals.js';
import { listUsageRecords } from './rpcs/list-usage-records.js';
import { recordUsage } from './rpcs/record-usage.js';

/** The RPCs of metering. */
export class MeteringRpcs implements messages.MeteringService {
  constructor(private readonly deps: RpcDeps) {}

  checkpointUsage = (request: messages.CheckpointUsageRequest, context: CallContext) => checkpointUsage(request, context, this.deps);
  recordUsage = (request: messages.RecordUsageRequest, context: CallContext) => recordUsage(request, context, this.deps);
  getUsageRecord = (request: messages.GetUsageRecordRequest, context: CallContext) => getUsageRecord(request, context, this.deps);
  listUsageRecords = (request: messages.ListUsageRecordsRequest, context: CallContext) => listUsageRecords(request, context, this.deps);
  getUsageTotals = (request: messages.GetUsageTotalsRequest, context: CallContext) => getUsageTotals(request, context, this.deps);
  getOutbox = (request: messages.GetOutboxRequest, context: CallContext) => getOutbox(request, context, this.deps);
}
