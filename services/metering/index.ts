// The public interface of metering: all that a composition may import, besides its settings.
import { AuditOutbox, type AuditReceiver } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import { whenReachable } from '#kit/db/when-reachable.js';
import type { Database } from '#kit/db/open.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import type { Access } from '#kit/rpc/access/access.js';
import type { CatalogService } from '#proto/catalog/v1/catalog.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import type { MeteringService } from '#proto/metering/v1/metering.js';
import { Archiver } from './archive/archiver.js';
import type { MeteringConfig } from './config.js';
import { RollupWorker } from './rollups/rollup-worker.js';
import { createKeyLane } from './keyed-calls/key-lane.js';
import { startKeySweeper } from './keyed-calls/key-sweeper.js';
import { LeaseGrace } from './leases/lease-grace.js';
import { LeaseSweeper } from './leases/lease-sweeper.js';
import { LedgerOutage } from './settlement/ledger-outage.js';
import { observeMetering } from './metering-metrics.js';
import { migrations } from './migrations/index.js';
import { PromptLogs, type PromptLogPeers } from './prompt-log/prompt-logs.js';
import { KeyAlerts } from './refusals/key-alerts.js';
import { startRefusalPruner } from './refusals/refusal-pruner.js';
import { startRefunds } from './settlement/refunds.js';
import type { SettleInTransaction } from './settlement/settle-with-record.js';
import { OutboxWorker } from './settlement/outbox-worker.js';
import { ReconcileJob } from './reconcile/job.js';
import { PriceBook } from './reconcile/price-book.js';
import { createRecordLane } from './records/record-lane.js';
import { ModelPerformances } from './store/totals/model-performance.js';
import { meteringService } from './service.js';

export { type MeteringConfig, meteringSettings } from './config.js';
export { migrations as meteringMigrations } from './migrations/index.js';
export { hasUnsentRefunds, requeueRefunds } from './store/settlement/refund-outbox.js';
export { requeueSettlements } from './store/settlement/requeue.js';
export { SecretKeyFile } from '#kit/secrets/secret-keys.js';

/** Holds what metering needs from its process. The composition opens and closes the database. */
export interface MeteringDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly access: Access;
  readonly ledger: Pick<LedgerService, 'settle' | 'refund' | 'checkpoint' | 'batchGetHolds' | 'listHolds' | 'verify'>;
  /** Settles calls in the transaction that stores their records; set where the ledger shares the database. Otherwise the outbox delivers. */
  readonly settleInTransaction?: SettleInTransaction;
  /** Provides the prices that records are expected to have. */
  readonly catalog: Pick<CatalogService, 'listPriceVersions'>;
  /** Sends alerts about refused keys; absent where nothing is sent. */
  readonly alerts?: Pick<AlertService, 'alertKeyRefused'>;
  /** The auth service, which keeps the audit log. */
  readonly auth: AuditReceiver;
  /** The services that prompt logs need; absent where none are stored, read or deleted. */
  readonly promptLogs?: PromptLogPeers;
}

/** Creates metering over these dependencies. `start` migrates, then delivers settlements, closes lost calls and compares the books until `stop`. */
export function createMetering(config: MeteringConfig, deps: MeteringDeps): ServiceModule<MeteringService> {
  const { db } = deps;
  const audit = new AuditOutbox({ ...deps, receiver: deps.auth, caller: 'metering' });
  const outage = new LedgerOutage(deps.clock, deps.log);
  const grace = new LeaseGrace(deps.clock, config);
  const records = createRecordLane({ config, ...deps, grace });
  const keys = createKeyLane({ config, ...deps, grace });
  const outbox = new OutboxWorker({ config, ...deps, outage });
  const sweeper = new LeaseSweeper({ config, ...deps, grace });
  const keyAlerts = new KeyAlerts({ alerts: deps.alerts, db, clock: deps.clock, log: deps.log });
  const promptLogs = deps.promptLogs && new PromptLogs({ config, ...deps, ...deps.promptLogs });
  const reconcile = { config, db, clock: deps.clock, ledger: deps.ledger, prices: new PriceBook(deps.catalog, deps.clock), grace };
  const modelPerformances = new ModelPerformances(deps);
  const reconcileJob = new ReconcileJob({ ...reconcile, log: deps.log });
  let stopRefunds = async (): Promise<void> => {};
  let stopKeySweeper = async (): Promise<void> => {};
  let stopRefusalPruner = async (): Promise<void> => {};
  let endObserving = (): void => {};
  const archiver = new Archiver({ config, ...deps });
  const rollupWorker = new RollupWorker({ config, ...deps });
  return {
    name: 'metering',
    service: meteringService({
      config,
      ...deps,
      outage,
      records,
      keys,
      grace,
      outbox,
      keyAlerts,
      reconcile,
      audit,
      promptLogs,
      modelPerformances,
    }),
    async start() {
      await migrate(db, migrations, deps.log);
      await promptLogs?.start();
      audit.start();
      await whenReachable(deps.log, () => outbox.start());
      stopRefunds = startRefunds({ config, ...deps, outage });
      sweeper.start();
      reconcileJob.start();
      stopKeySweeper = startKeySweeper({ config, ...deps });
      stopRefusalPruner = startRefusalPruner({ config, ...deps });
      keyAlerts.start();
      endObserving = observeMetering({ db, clock: deps.clock, log: deps.log, results: () => reconcileJob.results });
      archiver.start();
      rollupWorker.start();
    },
    async stop() {
      endObserving();
      // Each of many refunds may wait for the ledger, so none is begun while the others stop.
      const refundsStopped = stopRefunds();
      await rollupWorker.stop();
      await archiver.stop();
      await reconcileJob.stop();
      await sweeper.stop();
      await stopKeySweeper();
      await stopRefusalPruner();
      await promptLogs?.stop();
      await keyAlerts.stop();
      await keys.idle();
      await records.idle();
      await refundsStopped;
      await outbox.stop();
      await audit.stop();
    },
    async ready() {
      if (await db.isWritable()) return { ok: true };
      grace.begin();
      return { ok: false, why: 'metering cannot write to its database' };
    },
  };
}
