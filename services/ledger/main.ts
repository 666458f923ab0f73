// The ledger's process when it runs separately.
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { NotificationServiceDefinition } from '#proto/auth/v1/notifications.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { AlertServiceDefinition } from '#proto/ledger/v1/alerts.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { PaymentServiceDefinition } from '#proto/ledger/v1/payments.js';
import { publicUrl } from '#kit/config/public-url.js';
import { text } from '#kit/config/settings.js';
import { databasePart, databaseUrl } from '#kit/db/part.js';
import { offer, runService } from '#kit/process/service-process.js';
import { createAlerts, createLedger, createPayments, ensureSecretKey, ledgerSettings, paymentSettings } from './index.js';

await runService({
  name: 'ledger',
  listen: '127.0.0.1:7103',
  settings: {
    ...ledgerSettings,
    ...paymentSettings,
    publicUrl,
    databaseUrl: databaseUrl('TOLLGATE_LEDGER_DATABASE_URL'),
    authAddress: text('TOLLGATE_AUTH_ADDRESS', 'where auth is: host:port', { default: '127.0.0.1:7101' }),
    secretKeyPath: text(
      'TOLLGATE_LEDGER_SECRET_KEY_FILE',
      'file with the key that encrypts the secrets of alerts’ webhooks, the same for every replica; made when absent',
      {
        default: './data/ledger-secret-key',
      },
    ),
  },
  build(config, { log, clock, dial, access }) {
    const database = databasePart(config.databaseUrl, log);
    const toAuth = dial('auth', config.authAddress);
    const auth = toAuth.client(UserServiceDefinition);
    const callers = toAuth.client(CallerServiceDefinition);
    const ledger = createLedger(config, { db: database.db, clock, log, access, auth });
    const alerts = createAlerts(config, {
      db: database.db,
      clock,
      log,
      auditLog: ledger.auditLog,
      secretKey: ensureSecretKey(config.secretKeyPath),
      notifications: toAuth.client(NotificationServiceDefinition),
      publicUrl: config.publicUrl,
    });
    const payments = createPayments(config, { ledger, clock, log });
    return {
      parts: [database, ledger, alerts, payments],
      offers: [offer(LedgerServiceDefinition, ledger), offer(AlertServiceDefinition, alerts), offer(PaymentServiceDefinition, payments)],
      callers,
    };
  },
});
