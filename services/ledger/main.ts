// The process of ledger when it runs apart.
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { databasePart, databaseUrl } from '#kit/db/part.js';
import { offer, runService } from '#kit/service-process.js';
import { createLedger, ledgerPolicy, ledgerSettings } from './index.js';

await runService({
  name: 'ledger',
  listen: '127.0.0.1:7103',
  settings: { ...ledgerSettings, databaseUrl: databaseUrl('TOLLGATE_LEDGER_DATABASE_URL') },
  build(config, { log, clock }) {
    const database = databasePart(config.databaseUrl, log);
    const ledger = createLedger(config, { db: database.db, clock, log });
    return { parts: [database, ledger], offers: [offer(LedgerServiceDefinition, ledger, ledgerPolicy)] };
  },
});
