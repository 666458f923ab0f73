// MeteringService: its RPCs, bound to their dependencies.
import { bindRpcs } from '#kit/rpc/bind-rpcs.js';
import type { MeteringService } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from './deps.js';
import { refundUndeliveredAnswer } from './rpcs/refund-undelivered-answer.js';
import { deleteStoredParts } from './rpcs/delete-stored-parts.js';
import { getStoredParts } from './rpcs/get-stored-parts.js';
import { joinCall } from './rpcs/join-call.js';
import { offerCall } from './rpcs/offer-call.js';
import { releaseIdempotencyKey } from './rpcs/release-idempotency-key.js';
import { reserveIdempotencyKey } from './rpcs/reserve-idempotency-key.js';
import { checkpointUsage } from './rpcs/checkpoint-usage.js';
import { closeSettlement } from './rpcs/close-settlement.js';
import { deletePromptLog } from './rpcs/delete-prompt-log.js';
import { estimateCharges } from './rpcs/estimate-charges.js';
import { getHealth } from './rpcs/get-health.js';
import { getOutbox } from './rpcs/get-outbox.js';
import { getReconciliation } from './rpcs/get-reconciliation.js';
import { getRefusal } from './rpcs/get-refusal.js';
import { getRefusalTotals } from './rpcs/get-refusal-totals.js';
import { getUsagePerformance } from './rpcs/get-usage-performance.js';
import { listModelPerformance } from './rpcs/list-model-performance.js';
import { getUsageRecord } from './rpcs/get-usage-record.js';
import { getUsageTotals } from './rpcs/get-usage-totals.js';
import { batchGetKeyActivity } from './rpcs/batch-get-key-activity.js';
import { listRefusals } from './rpcs/list-refusals.js';
import { listUnsettledCharges } from './rpcs/list-unsettled-charges.js';
import { listUsageRecords } from './rpcs/list-usage-records.js';
import { reconcile } from './rpcs/reconcile.js';
import { readPromptLog } from './rpcs/read-prompt-log.js';
import { decoratedOperations, batch } from './rpcs/batch.js';
import { recordRefusals } from './rpcs/record-refusals.js';
import { recordUsage } from './rpcs/record-usage.js';
import { retrySettlement } from './rpcs/retry-settlement.js';
import { storePromptLogs } from './rpcs/store-prompt-logs.js';

/** Returns the implementation of the contract over these dependencies. */
export function meteringService(deps: RpcDeps): MeteringService {
  const rpcs = bindRpcs<Omit<MeteringService, 'batch'>, RpcDeps>(
    {
      checkpointUsage,
      recordUsage,
      refundUndeliveredAnswer,
      getUsageRecord,
      listUsageRecords,
      getUsageTotals,
      getUsagePerformance,
      listModelPerformance,
      batchGetKeyActivity,
      estimateCharges,
      storePromptLogs,
      readPromptLog,
      deletePromptLog,
      recordRefusals,
      getRefusal,
      listRefusals,
      getRefusalTotals,
      getHealth,
      getOutbox,
      reconcile,
      getReconciliation,
      listUnsettledCharges,
      retrySettlement,
      closeSettlement,
      reserveIdempotencyKey,
      releaseIdempotencyKey,
      offerCall,
      joinCall,
      getStoredParts,
      deleteStoredParts,
    },
    deps,
  );
  const streamDeps = { ...deps, operations: decoratedOperations(rpcs, deps) };
  return { ...rpcs, ...bindRpcs<Pick<MeteringService, 'batch'>, typeof streamDeps>({ batch }, streamDeps) };
}
