// Brings the schemas of the services up to date and ends, for installations that do this before they replace processes. Reads the variables of the
// services, so that the second passwords of the databases need not be in the services themselves.
import { ConfigError, parseSettings, type Setting } from '#kit/config/settings.js';
import { databaseUrl, migrationDatabaseUrl } from '#kit/db/part.js';
import { type Migration, migrate } from '#kit/db/migrations/migrate.js';
import { openDatabase } from '#kit/db/open.js';
import { createLogger } from '#kit/log.js';
import { type ServiceName, serviceNames } from '#rules/services.js';
import { authMigrations as auth } from '../../services/auth/index.js';
import { catalogMigrations as catalog } from '../../services/catalog/index.js';
import { inferenceMigrations as inference } from '../../services/inference/index.js';
import { ledgerMigrations as ledger } from '../../services/ledger/index.js';
import { meteringMigrations as metering } from '../../services/metering/index.js';

const migrations: Readonly<Record<ServiceName, readonly Migration[]>> = { auth, catalog, ledger, metering, inference };
const log = createLogger({ name: 'migrate', level: 'info' });
const settings = Object.fromEntries(
  serviceNames.flatMap((name): [string, Setting<string | undefined>][] => [
    [name, databaseUrl(`TOLLGATE_${name.toUpperCase()}_DATABASE_URL`)],
    [`${name} migrations`, migrationDatabaseUrl(`TOLLGATE_${name.toUpperCase()}_MIGRATION_DATABASE_URL`)],
  ]),
);

try {
  const urls = parseSettings(settings, process.env);
  for (const name of serviceNames) {
    const db = openDatabase(urls[name]!, { log, migrationUrl: urls[`${name} migrations`] });
    try {
      log.info({ service: name, applied: await migrate(db, migrations[name], log) }, 'the schema is up to date');
    } finally {
      await db.close();
    }
  }
} catch (error) {
  process.stderr.write(
    `${error instanceof ConfigError ? error.message : `The schemas could not be brought up to date: ${String(error)}`}\n`,
  );
  process.exitCode = 1;
}
