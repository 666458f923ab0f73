// Runs all services in this process on SQLite, composed as in single mode, for tests that span several services.
import { randomBytes } from 'node:crypto';
import { systemClock } from '#kit/clock.js';
import { fixedSecretKeys } from '#kit/secrets/secret-keys.js';
import { parseSettings } from '#kit/config/settings.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import type { Mail, Mailer } from '#kit/mail/mailer.js';
import { Access } from '#kit/rpc/access/access.js';
import { startInOrder } from '#kit/lifecycle.js';
import { silentLog as log } from '#kit/testing/log.js';
import type { CallerService } from '#proto/auth/v1/callers.js';
import type { AuthService } from '#proto/auth/v1/auth.js';
import type { NotificationService } from '#proto/auth/v1/notifications.js';
import type { UserService } from '#proto/auth/v1/users.js';
import type { WebhookService } from '#proto/auth/v1/webhooks.js';
import type { CatalogService } from '#proto/catalog/v1/catalog.js';
import type { InferenceService } from '#proto/inference/v1/inference.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import type { MeteringService } from '#proto/metering/v1/metering.js';
import { authSettings, createAuth } from '../../services/auth/index.js';
import { identityProvider } from '../../services/auth/testing/auth.js';
import { catalogSettings, createCatalog } from '../../services/catalog/index.js';
import { createInference, inferenceSettings } from '../../services/inference/index.js';
import { createAlerts, createLedger, ledgerSettings } from '../../services/ledger/index.js';
import { createMetering, meteringSettings } from '../../services/metering/index.js';

/** The services and their databases. */
export interface TestServices {
  readonly auth: AuthService;
  readonly callers: CallerService;
  readonly users: UserService;
  readonly notifications: NotificationService;
  readonly webhooks: WebhookService;
  readonly catalog: CatalogService;
  readonly ledger: LedgerService;
  readonly alerts: AlertService;
  readonly metering: MeteringService;
  readonly inference: InferenceService;
  readonly databases: Readonly<Record<'auth' | 'catalog' | 'ledger' | 'metering' | 'inference', Database>>;
  /** Mails that have been sent to users. */
  readonly mails: readonly Mail[];
  stop(): Promise<void>;
}

/** Starts the services on empty databases. */
export async function startServices(): Promise<TestServices> {
  const clock = systemClock;
  const open = (): Database => openDatabase('sqlite::memory:');
  const books = open();
  const databases = { auth: open(), catalog: open(), ledger: books, metering: books, inference: open() };
  const access = new Access();
  const secretKeys = fixedSecretKeys(randomBytes(32));
  const mails: Mail[] = [];
  const mailer: Mailer = {
    async send(mail) {
      mails.push(mail);
      return '250 taken';
    },
  };
  const publicUrl = 'https://console.example.com';
  const auth = createAuth(
    { ...parseSettings(authSettings, {}), signUp: true },
    { db: databases.auth, clock, log, mailer, publicUrl, secretKeys, identityProvider },
  );
  const keeper = { auth: auth.users.service, clock, log };
  const catalog = createCatalog({ ...parseSettings(catalogSettings, {}), seed: false }, { ...keeper, db: databases.catalog });
  const ledger = createLedger(parseSettings(ledgerSettings, {}), { ...keeper, db: databases.ledger, access });
  const alerts = createAlerts(parseSettings(ledgerSettings, {}), {
    db: databases.ledger,
    clock,
    log,
    auditLog: ledger.auditLog,
    notifications: auth.notifications.service,
    publicUrl,
  });
  const metering = createMetering(parseSettings(meteringSettings, {}), {
    ...keeper,
    db: databases.metering,
    access,
    ledger: ledger.service,
    settleInTransaction: ledger.settleInTransaction,
    catalog: catalog.service,
    alerts: alerts.service,
    promptLogs: { projects: auth.service, secretKeys },
  });
  const inference = createInference(parseSettings(inferenceSettings, {}), { ...keeper, db: databases.inference, secretKeys });
  const stop = await startInOrder([auth, catalog, ledger, alerts, metering, inference], log);
  return {
    auth: auth.service,
    callers: auth.callers.service,
    users: auth.users.service,
    notifications: auth.notifications.service,
    webhooks: auth.webhooks.service,
    catalog: catalog.service,
    ledger: ledger.service,
    alerts: alerts.service,
    metering: metering.service,
    inference: inference.service,
    databases,
    mails,
    async stop() {
      await stop();
      for (const db of new Set(Object.values(databases))) await db.close();
    },
  };
}
