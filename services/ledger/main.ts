// The ledger's process when it runs separately.
import { AuthServiceDefinition } from '#proto/auth/v1/auth.js';
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { NotificationServiceDefinition } from '#proto/auth/v1/notifications.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { AlertServiceDefinition } from '#proto/ledger/v1/alerts.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { PaymentServiceDefinition } from '#proto/ledger/v1/payments.js';
import { localAddress } from '#kit/config/addresses.js';
import { databasePart } from '#kit/db/part.js';
import { offer, runService } from '#kit/process/service-process.js';
import { ledgerProcessSettings } from './config.js';
import { createAlerts, createLedger, createPayments, paymentCheck } from './index.js';

await runService({
  name: 'ledger',
  listen: localAddress('ledger'),
  settings: ledgerProcessSettings,
  checks: [paymentCheck],
  build(config, host) {
    const { log, clock, dial, access } = host;
    const database = databasePart(config.databaseUrl, host, config.migrationDatabaseUrl);
    const toAuth = dial('auth', config.authAddress);
    const auth = toAuth.client(UserServiceDefinition);
    const callers = toAuth.client(CallerServiceDefinition);
    const ledger = createLedger(config, { db: database.db, clock, log, access, auth });
    const alerts = createAlerts(config, {
      db: database.db,
      clock,
      log,
      auditLog: ledger.auditLog,
      notifications: toAuth.client(NotificationServiceDefinition),
      publicUrl: config.publicUrl,
    });
    const payments = createPayments(config, { ledger, accounts: toAuth.client(AuthServiceDefinition), clock, log });
    return {
      parts: [database, ledger, alerts, payments],
      offers: [offer(LedgerServiceDefinition, ledger), offer(AlertServiceDefinition, alerts), offer(PaymentServiceDefinition, payments)],
      callers,
    };
  },
});
