// The dependencies of metering's RPCs.
import type { AuditOutbox } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import type { Access } from '#kit/rpc/access/access.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import type { MeteringConfig } from './config.js';
import type { KeyLane } from './keyed-calls/key-lane.js';
import type { LeaseGrace } from './leases/lease-grace.js';
import type { LedgerOutage } from './settlement/ledger-outage.js';
import type { OutboxWorker } from './settlement/outbox-worker.js';
import type { PromptLogs } from './prompt-log/prompt-logs.js';
import type { ReconcileDeps } from './reconcile/examine.js';
import type { KeyAlerts } from './refusals/key-alerts.js';
import type { RecordLane } from './records/record-lane.js';
import type { ModelPerformances } from './store/totals/model-performance.js';

/** Holds the dependencies that every RPC receives. */
export interface RpcDeps {
  readonly config: MeteringConfig;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** The policy for operations on the batch stream. */
  readonly access: Access;
  readonly ledger: Pick<LedgerService, 'checkpoint' | 'batchGetHolds'>;
  readonly outage: LedgerOutage;
  readonly records: RecordLane;
  readonly keys: KeyLane;
  readonly grace: LeaseGrace;
  readonly outbox: OutboxWorker;
  readonly keyAlerts: Pick<KeyAlerts, 'wake'>;
  readonly reconcile: ReconcileDeps;
  readonly audit: AuditOutbox;
  readonly promptLogs: PromptLogs | undefined;
  readonly modelPerformances: ModelPerformances;
}
