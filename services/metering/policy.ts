// Who may call metering.
import type { PeerPolicy } from '#kit/rpc/peer-policy.js';
import type { MeteringService } from '#proto/metering/v1/metering.js';

/** The callers of each RPC beside the operator, who may call all. */
export const meteringPolicy: PeerPolicy<keyof MeteringService> = {
  checkpointUsage: ['gateway'],
  recordUsage: ['gateway'],
  // Each operation on it is admitted by the line of its own name.
  recordBatches: ['gateway'],
  getUsageRecord: ['gateway'],
  listUsageRecords: ['gateway'],
  getUsageTotals: ['gateway'],
  listKeyActivity: ['gateway'],
  estimateCharges: ['gateway'],
  getOutbox: ['gateway'],
  reconcile: [],
  getReconciliation: ['gateway'],
  listUnsettled: [],
  retrySettlement: [],
  closeSettlement: [],
  beginKeyedCall: ['gateway'],
  abandonKeyedCall: ['gateway'],
  getHealth: ['gateway'],
};
