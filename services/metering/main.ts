// The process of metering when it runs apart.
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import { text } from '#kit/config/settings.js';
import { databasePart, databaseUrl } from '#kit/db/part.js';
import { offer, runService } from '#kit/service-process.js';
import { createMetering, meteringPolicy, meteringSettings } from './index.js';

await runService({
  name: 'metering',
  listen: '127.0.0.1:7104',
  settings: {
    ...meteringSettings,
    databaseUrl: databaseUrl('TOLLGATE_METERING_DATABASE_URL'),
    ledgerAddress: text('TOLLGATE_LEDGER_ADDRESS', 'where the ledger is: host:port', { default: '127.0.0.1:7103' }),
  },
  build(config, host) {
    const { log, clock } = host;
    const database = databasePart(config.databaseUrl, log);
    const ledger = host.dial(config.ledgerAddress).client(LedgerServiceDefinition);
    const metering = createMetering(config, { db: database.db, clock, log, ledger });
    return { parts: [database, metering], offers: [offer(MeteringServiceDefinition, metering, meteringPolicy)] };
  },
});
