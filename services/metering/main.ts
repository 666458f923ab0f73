// Metering's process when it runs separately.
import { AuthServiceDefinition } from '#proto/auth/v1/auth.js';
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { AlertServiceDefinition } from '#proto/ledger/v1/alerts.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import { localAddress } from '#kit/config/addresses.js';
import { databasePart } from '#kit/db/part.js';
import { batchClient } from '#client/batch/batch-client.js';
import { timed } from '#kit/rpc/chain/rpc-metrics.js';
import { offer, runService } from '#kit/process/service-process.js';
import { meteringProcessSettings } from './config.js';
import { createMetering, SecretKeyFile } from './index.js';

await runService({
  name: 'metering',
  listen: localAddress('metering'),
  settings: meteringProcessSettings,
  build(config, host) {
    const { log, clock, access } = host;
    const database = databasePart(config.databaseUrl, host, config.migrationDatabaseUrl);
    // Settlements share messages; a checkpoint is already one request for many calls, and would only delay them.
    const onOneStream = { method: 'batch', operations: ['settle', 'release'], caller: 'metering', log } as const;
    const ledgerConnection = host.dial('ledger', config.ledgerAddress);
    const toLedger = ledgerConnection.client(LedgerServiceDefinition);
    const alerts = ledgerConnection.client(AlertServiceDefinition);
    const batched = batchClient(LedgerServiceDefinition, toLedger, onOneStream).client;
    const ledger = timed(LedgerServiceDefinition, batched, 'grpc', onOneStream.operations);
    const catalog = host.dial('catalog', config.catalogAddress).client(CatalogServiceDefinition);
    const toAuth = host.dial('auth', config.authAddress);
    const auth = toAuth.client(UserServiceDefinition);
    const callers = toAuth.client(CallerServiceDefinition);
    const metering = createMetering(config, {
      db: database.db,
      clock,
      log,
      access,
      ledger,
      alerts,
      catalog,
      auth,
      promptLogs: {
        projects: toAuth.client(AuthServiceDefinition),
        secretKeys: new SecretKeyFile(config.secretKeyPath),
        lostSecretKey: config.lostSecretKey,
      },
    });
    return { parts: [database, metering], offers: [offer(MeteringServiceDefinition, metering)], callers };
  },
});
