// The process of catalog when it runs apart.
import { CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { databasePart, databaseUrl } from '#kit/db/part.js';
import { offer, runService } from '#kit/service-process.js';
import { createCatalog, catalogPolicy, catalogSettings } from './index.js';

await runService({
  name: 'catalog',
  listen: '127.0.0.1:7102',
  settings: { ...catalogSettings, databaseUrl: databaseUrl('TOLLGATE_CATALOG_DATABASE_URL') },
  build(config, { log, clock }) {
    const database = databasePart(config.databaseUrl, log);
    const catalog = createCatalog(config, { db: database.db, clock, log });
    return { parts: [database, catalog], offers: [offer(CatalogServiceDefinition, catalog, catalogPolicy)] };
  },
});
