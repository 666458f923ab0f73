// Metering's process when it runs separately.
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import { text } from '#kit/config/settings.js';
import { databasePart, databaseUrl } from '#kit/db/part.js';
import { batchClient } from '#client/batch/batch-client.js';
import { offer, runService } from '#kit/process/service-process.js';
import { createMetering, meteringSettings } from './index.js';

await runService({
  name: 'metering',
  listen: '127.0.0.1:7104',
  settings: {
    ...meteringSettings,
    databaseUrl: databaseUrl('TOLLGATE_METERING_DATABASE_URL'),
    authAddress: text('TOLLGATE_AUTH_ADDRESS', 'where auth is: host:port', { default: '127.0.0.1:7101' }),
    catalogAddress: text('TOLLGATE_CATALOG_ADDRESS', 'where the catalog is: host:port', { default: '127.0.0.1:7102' }),
    ledgerAddress: text('TOLLGATE_LEDGER_ADDRESS', 'where the ledger is: host:port', { default: '127.0.0.1:7103' }),
  },
  build(config, host) {
    const { log, clock, access } = host;
    const database = databasePart(config.databaseUrl, log);
    // Settlements share messages; a checkpoint is already one request for many calls, and would only delay them.
    const onOneStream = { method: 'batch', operations: ['settle', 'release'], caller: 'metering', log } as const;
    const ledger = batchClient(
      LedgerServiceDefinition,
      host.dial('ledger', config.ledgerAddress).client(LedgerServiceDefinition),
      onOneStream,
    ).client;
    const catalog = host.dial('catalog', config.catalogAddress).client(CatalogServiceDefinition);
    const toAuth = host.dial('auth', config.authAddress);
    const auth = toAuth.client(UserServiceDefinition);
    const callers = toAuth.client(CallerServiceDefinition);
    const metering = createMetering(config, { db: database.db, clock, log, access, ledger, catalog, auth });
    return { parts: [database, metering], offers: [offer(MeteringServiceDefinition, metering)], callers };
  },
});
