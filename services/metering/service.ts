// The generated interface, one line per RPC.
import { callContext, type CallContext } from '#kit/rpc/call-context.js';
import type * as messages from '#proto/metering/v1/metering.js';
import type { RpcDeps } from './deps.js';
import { abandonKeyedCall } from './rpcs/abandon-keyed-call.js';
import { beginKeyedCall } from './rpcs/begin-keyed-call.js';
import { checkpointUsage } from './rpcs/checkpoint-usage.js';
import { closeSettlement } from './rpcs/close-settlement.js';
import { estimateCharges } from './rpcs/estimate-charges.js';
import { getHealth } from './rpcs/get-health.js';
import { getOutbox } from './rpcs/get-outbox.js';
import { getReconciliation } from './rpcs/get-reconciliation.js';
import { getUsageRecord } from './rpcs/get-usage-record.js';
import { getUsageTotals } from './rpcs/get-usage-totals.js';
import { listKeyActivity } from './rpcs/list-key-activity.js';
import { listUnsettled } from './rpcs/list-unsettled.js';
import { listUsageRecords } from './rpcs/list-usage-records.js';
import { reconcile } from './rpcs/reconcile.js';
import { decoratedOperations, type Operations, recordBatches } from './rpcs/record-batches.js';
import { recordUsage } from './rpcs/record-usage.js';
import { retrySettlement } from './rpcs/retry-settlement.js';

/** The RPCs of metering. */
export class MeteringRpcs implements messages.MeteringService {
  private readonly operations: Operations;

  constructor(private readonly deps: RpcDeps) {
    this.operations = decoratedOperations({ recordUsage: (request, context = unknownCaller) => this.recordUsage(request, context) }, deps);
  }

  checkpointUsage = (request: messages.CheckpointUsageRequest, context: CallContext) => checkpointUsage(request, context, this.deps);
  recordUsage = (request: messages.RecordUsageRequest, context: CallContext) => recordUsage(request, context, this.deps);
  recordBatches = (requests: AsyncIterable<messages.RecordBatchesRequest>, context: CallContext) =>
    recordBatches(requests, context, this.operations, this.deps);
  getUsageRecord = (request: messages.GetUsageRecordRequest, context: CallContext) => getUsageRecord(request, context, this.deps);
  listUsageRecords = (request: messages.ListUsageRecordsRequest, context: CallContext) => listUsageRecords(request, context, this.deps);
  getUsageTotals = (request: messages.GetUsageTotalsRequest, context: CallContext) => getUsageTotals(request, context, this.deps);
  listKeyActivity = (request: messages.ListKeyActivityRequest, context: CallContext) => listKeyActivity(request, context, this.deps);
  estimateCharges = (request: messages.EstimateChargesRequest, context: CallContext) => estimateCharges(request, context);
  getHealth = () => getHealth(this.deps);
  getOutbox = (request: messages.GetOutboxRequest, context: CallContext) => getOutbox(request, context, this.deps);
  reconcile = (request: messages.ReconcileRequest, context: CallContext = unknownCaller) => reconcile(request, context, this.deps);
  getReconciliation = (request: messages.GetReconciliationRequest, context: CallContext) => getReconciliation(request, context, this.deps);
  listUnsettled = (request: messages.ListUnsettledRequest, context: CallContext) => listUnsettled(request, context, this.deps);
  retrySettlement = (request: messages.RetrySettlementRequest, context: CallContext = unknownCaller) =>
    retrySettlement(request, context, this.deps);
  closeSettlement = (request: messages.CloseSettlementRequest, context: CallContext = unknownCaller) =>
    closeSettlement(request, context, this.deps);
  beginKeyedCall = (request: messages.BeginKeyedCallRequest, context: CallContext) => beginKeyedCall(request, context, this.deps);
  abandonKeyedCall = (request: messages.AbandonKeyedCallRequest, context: CallContext) => abandonKeyedCall(request, context, this.deps);
}

/** The generated interface leaves the context optional; a transport always passes one. */
const unknownCaller = callContext({ caller: 'unknown' });
