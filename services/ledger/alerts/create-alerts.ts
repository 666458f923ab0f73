// Alerts as a module of their own, with a contract and a lifecycle, over the ledger's database.
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';
import { migrations } from '../migrations/index.js';
import { Reads } from '../store/reads.js';
import type { AlertDeps } from './deps.js';
import { createNotificationOutbox, type Notifications } from './notification-outbox.js';
import { DueAlertStore } from './budgets/due-alerts.js';
import { alertService } from './service.js';
import { AlertStore } from './store/alerts.js';
import { AlertWatcher } from './watcher.js';

/** Holds what alerts need from their process. */
export interface AlertModuleDeps {
  /** The ledger's database. */
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** The ledger's audit log. */
  readonly auditLog: AuditLog;
  /** Auth's notifier. */
  readonly notifications: Notifications;
  readonly publicUrl: string | undefined;
}

/** Creates the alerts module over the ledger's database. `start` migrates and starts the watcher and the outbox. */
export function createAlerts(
  config: AlertDeps['config'],
  { db, clock, log, auditLog, notifications, publicUrl }: AlertModuleDeps,
): ServiceModule<AlertService> {
  const reads = new Reads(db);
  const outbox = createNotificationOutbox({ db, notifications, log });
  const deps: AlertDeps = {
    alerts: new AlertStore(db, outbox),
    dueAlerts: new DueAlertStore(db),
    outbox,
    notifications,
    reads,
    auditLog,
    publicUrl,
    config,
    clock,
    log,
  };
  const watcher = new AlertWatcher(deps);
  return {
    name: 'alerts',
    service: alertService(deps),
    async start() {
      await migrate(db, migrations);
      watcher.start();
      outbox.start();
    },
    async stop() {
      await watcher.stop();
      await outbox.stop();
    },
    async ready() {
      return (await db.isWritable()) ? { ok: true } : { ok: false, why: "alerts cannot write to the ledger's database" };
    },
  };
}
