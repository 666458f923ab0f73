// Alerts as a module next to the ledger's own: the same database, with its own contract and lifecycle.
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { migrate } from '#kit/db/migrate.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import { createMailer } from '#kit/mail/mailer.js';
import type { MailConfig } from '#kit/mail/settings.js';
import { SecretBox } from '#kit/secrets/secret-box.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';
import { migrations } from '../migrations/index.js';
import { Reads } from '../store/reads.js';
import { DeliveryWorker } from './delivery-worker.js';
import type { AlertDeps } from './deps.js';
import { alertService } from './service.js';
import { AlertStore } from './store/alerts.js';
import { DeliveryStore } from './store/deliveries.js';
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
  readonly mail: MailConfig;
  readonly publicUrl: string | undefined;
}

/** Creates alerts over the ledger's database. `start` migrates and starts the watcher and the delivery worker. Raises ConfigError for invalid mail settings. */
export function createAlerts(
  config: AlertDeps['config'],
  { db, clock, log, auditLog, secretKey, mail, publicUrl }: AlertModuleDeps,
): ServiceModule<AlertService> {
  const reads = new Reads(db);
  const mailer = createMailer(mail);
  const deps: AlertDeps = {
    alerts: new AlertStore(db),
    deliveries: new DeliveryStore(db),
    reads,
    auditLog,
    box: new SecretBox(secretKey),
    mailer,
    publicUrl,
    config,
    clock,
    log,
  };
  const watcher = new AlertWatcher(deps);
  const deliveryWorker = new DeliveryWorker(deps);
  return {
    name: 'alerts',
    service: alertService(deps),
    async start() {
      await migrate(db, migrations);
      watcher.start();
      deliveryWorker.start();
    },
    async stop() {
      await watcher.stop();
      await deliveryWorker.stop();
      mailer?.close();
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
