// Alerts as a module next to the ledger's own: the same database, with its own contract and lifecycle.
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { migrate } from '#kit/db/migrate.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import { oldestMessageAtMs } from '#kit/outbox/outbox.js';
import { SecretBox } from '#kit/secrets/secret-box.js';
import { observeGauges } from '#kit/telemetry/metrics.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';
import { migrations } from '../migrations/index.js';
import { Reads } from '../store/reads.js';
import type { AlertDeps } from './deps.js';
import { createNotificationOutbox, notificationOutbox, type Notifications } from './notification-outbox.js';
import { alertService } from './service.js';
import { AlertStore } from './store/alerts.js';
import { AlertWatcher } from './watcher.js';

/** Holds what alerts need from their process. */
export interface AlertModuleDeps {
  /** The ledger's database. */
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** The ledger's own. */
  readonly auditLog: AuditLog;
  /** Encrypts the webhooks' secrets at rest. */
  readonly secretKey: Buffer;
  /** Auth's notifier. */
  readonly notifications: Notifications;
  readonly publicUrl: string | undefined;
}

/** Creates alerts over the ledger's database. `start` migrates and starts the watcher and the outbox. */
export function createAlerts(
  config: AlertDeps['config'],
  { db, clock, log, auditLog, secretKey, notifications, publicUrl }: AlertModuleDeps,
): ServiceModule<AlertService> {
  const reads = new Reads(db);
  const box = new SecretBox(secretKey);
  const outbox = createNotificationOutbox({ db, box, notifications, log });
  const deps: AlertDeps = {
    alerts: new AlertStore(db, outbox),
    outbox,
    notifications,
    reads,
    auditLog,
    box,
    publicUrl,
    config,
    clock,
    log,
  };
  const watcher = new AlertWatcher(deps);
  let endObserving = (): void => {};
  return {
    name: 'alerts',
    service: alertService(deps),
    async start() {
      await migrate(db, migrations);
      watcher.start();
      outbox.start();
      endObserving = observeOutbox(deps, db);
    },
    async stop() {
      await watcher.stop();
      endObserving();
      await outbox.stop();
    },
    async ready() {
      try {
        await reads.ping();
        return { ok: true };
      } catch {
        return { ok: false, why: 'alerts cannot reach the ledger’s database' };
      }
    },
  };
}

/** Reports how long notifications have waited in the outbox whenever metrics are collected. Returns a function that stops it. */
function observeOutbox({ clock, log }: AlertDeps, db: Database): () => void {
  const name = 'tollgate.notifications.outbox_age';
  return observeGauges(
    'tollgate.ledger',
    [{ name, description: 'How long the oldest notification that was not shipped to auth has waited.', unit: 's' }],
    async () => {
      const oldestAtMs = await oldestMessageAtMs(db.knex, notificationOutbox);
      return [{ name, value: oldestAtMs === 0 ? 0 : Math.max(0, clock.nowMs() - oldestAtMs) / 1000 }];
    },
    log,
  );
}
