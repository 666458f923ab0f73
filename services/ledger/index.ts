// The public interface of the ledger: all that the composition may import.
import { AuditOutbox, type AuditReceiver } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import type { Database } from '#kit/db/open.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import type { Access } from '#kit/rpc/access/access.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import { Archiver } from './archive/archiver.js';
import type { LedgerConfig } from './config.js';
import type { RpcDeps } from './deps.js';
import { countedLane, observeLedger } from './ledger-metrics.js';
import { migrations } from './migrations/index.js';
import { createOperationLane } from './lane/operation-lane.js';
import { type SettleInTransaction, settleInTransaction } from './lane/settle-in-transaction.js';
import { ledgerService } from './service.js';
import { ArchiveStore } from './store/archive.js';
import { Audit } from './store/audit.js';
import { Codes } from './store/codes.js';
import { Months } from './store/months.js';
import { Pages } from './store/pages.js';
import { Reads } from './store/reads.js';
import { PathHints } from './store/path-hints.js';
import { createStore, holdWriter, operationsMax, type StoreMemory } from './store/store.js';
import { UnwrittenHolds } from './lane/unwritten-holds.js';
import { Sweeper } from './expiry/sweeper.js';

export { createAlerts } from './alerts/create-alerts.js';
export { createPayments } from './payments/create-payments.js';
export { paymentCheck, paymentSettings } from './payments/settings.js';
export { type LedgerConfig, ledgerSettings } from './config.js';
export { migrations as ledgerMigrations } from './migrations/index.js';

/** Holds what the ledger needs from its process. */
export interface LedgerDeps {
  /** The ledger's own database, opened and closed by the composition. */
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly access: Access;
  /** The auth service, which keeps the audit log. */
  readonly auth: AuditReceiver;
  /** Whether metering has the same database and settles calls by `settleInTransaction`, so that a hold may be written with the record of its call. */
  readonly sharesRecords?: boolean;
}

/** The ledger, and what it offers to other modules on its database. */
export interface LedgerModule extends ServiceModule<LedgerService> {
  readonly auditLog: AuditOutbox;
  readonly settleInTransaction: SettleInTransaction;
}

/** Creates the ledger over its own database. `start` migrates and starts to end expired holds. */
export function createLedger(config: LedgerConfig, { db, clock, log, access, auth, sharesRecords = false }: LedgerDeps): LedgerModule {
  const auditLog = new AuditOutbox({ db, receiver: auth, caller: 'ledger', clock, log });
  const unwritten = sharesRecords && db.engine === 'sqlite' ? new UnwrittenHolds(operationsMax, log, () => db.isCommitting()) : undefined;
  const memory: StoreMemory = { hints: new PathHints(), unwritten };
  const store = createStore(db, auditLog, memory);
  const lane = countedLane(createOperationLane({ config, engine: db.engine, store, clock, turn: (waiting) => db.turn(waiting) }));
  const deps: RpcDeps = {
    lane,
    unwritten,
    writeHolds: holdWriter(store, memory),
    reads: new Reads(db),
    audit: new Audit(db),
    pages: new Pages(db),
    months: new Months(db),
    codes: new Codes(db),
    auditLog,
    lastCheck: { books: undefined },
    access,
    config,
    clock,
    log,
  };
  const sweeper = new Sweeper(deps);
  let endObserving = (): void => {};
  const archiver = new Archiver({ ...deps, store: new ArchiveStore(db) });
  return {
    name: 'ledger',
    auditLog,
    settleInTransaction: settleInTransaction({ clock, log, memory }),
    service: ledgerService(deps),
    async start() {
      await migrate(db, migrations, log);
      auditLog.start();
      sweeper.start();
      endObserving = observeLedger(deps);
      archiver.start();
    },
    async stop() {
      endObserving();
      await archiver.stop();
      await sweeper.stop();
      await lane.idle();
      unwritten?.stop();
      await deps.writeHolds();
      await auditLog.stop();
    },
    async ready() {
      return (await db.isWritable()) ? { ok: true } : { ok: false, why: 'the ledger cannot write to its database' };
    },
  };
}
