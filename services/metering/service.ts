// MeteringService: its RPCs, bound to what they need.
import { bindRpcs } from '#kit/rpc/bind-rpcs.js';
import type { MeteringService } from '#proto/metering/v1/metering.js';
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
import { decoratedOperations, recordBatches } from './rpcs/record-batches.js';
import { recordUsage } from './rpcs/record-usage.js';
import { retrySettlement } from './rpcs/retry-settlement.js';

/** The implementation of the contract over these dependencies. */
export function meteringService(deps: RpcDeps): MeteringService {
  const rpcs = bindRpcs<Omit<MeteringService, 'recordBatches'>, RpcDeps>(
    {
      checkpointUsage,
      recordUsage,
      getUsageRecord,
      listUsageRecords,
      getUsageTotals,
      listKeyActivity,
      estimateCharges,
      getHealth,
      getOutbox,
      reconcile,
      getReconciliation,
      listUnsettled,
      retrySettlement,
      closeSettlement,
      beginKeyedCall,
      abandonKeyedCall,
    },
    deps,
  );
  const streamDeps = { ...deps, operations: decoratedOperations(rpcs, deps) };
  return { ...rpcs, ...bindRpcs<Pick<MeteringService, 'recordBatches'>, typeof streamDeps>({ recordBatches }, streamDeps) };
}
