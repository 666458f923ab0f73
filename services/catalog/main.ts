// The catalog's process when it runs separately.
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { localAddress } from '#kit/config/addresses.js';
import { databasePart } from '#kit/db/part.js';
import { offer, runService } from '#kit/process/service-process.js';
import { catalogProcessSettings } from './config.js';
import { createCatalog } from './index.js';

await runService({
  name: 'catalog',
  listen: localAddress('catalog'),
  settings: catalogProcessSettings,
  build(config, host) {
    const { log, clock, dial } = host;
    const database = databasePart(config.databaseUrl, host, config.migrationDatabaseUrl);
    const toAuth = dial('auth', config.authAddress);
    const auth = toAuth.client(UserServiceDefinition);
    const callers = toAuth.client(CallerServiceDefinition);
    const catalog = createCatalog(config, { db: database.db, clock, log, auth });
    return { parts: [database, catalog], offers: [offer(CatalogServiceDefinition, catalog)], callers };
  },
});
