// The catalog's process when it runs separately.
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { text } from '#kit/config/settings.js';
import { databasePart, databaseUrl } from '#kit/db/part.js';
import { offer, runService } from '#kit/process/service-process.js';
import { createCatalog, catalogSettings } from './index.js';

await runService({
  name: 'catalog',
  listen: '127.0.0.1:7102',
  settings: {
    ...catalogSettings,
    databaseUrl: databaseUrl('TOLLGATE_CATALOG_DATABASE_URL'),
    authAddress: text('TOLLGATE_AUTH_ADDRESS', 'where auth is: host:port', { default: '127.0.0.1:7101' }),
  },
  build(config, { log, clock, dial }) {
    const database = databasePart(config.databaseUrl, log);
    const toAuth = dial('auth', config.authAddress);
    const auth = toAuth.client(UserServiceDefinition);
    const callers = toAuth.client(CallerServiceDefinition);
    const catalog = createCatalog(config, { db: database.db, clock, log, auth });
    return { parts: [database, catalog], offers: [offer(CatalogServiceDefinition, catalog)], callers };
  },
});
