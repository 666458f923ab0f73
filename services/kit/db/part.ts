// A database as part of a process: opened before the service that owns it, closed after it.
import type { Setting } from '../config/settings.js';
import type { Part } from '../lifecycle.js';
import type { ProcessHost } from '../process/process.js';
import { mysqlUrl } from './mysql/address.js';
import { type Database, openDatabase } from './open.js';

/** Returns the setting for the url of a service's database. */
export function databaseUrl(env: string): Setting<string> {
  return {
    env,
    description:
      "address of the service's own database: mysql://user:password@host:port/schema (the nodes of a Galera cluster as host:port,host:port; encrypted with ?ssl-mode=VERIFY_IDENTITY&ssl-ca=/path/of/ca.pem) or sqlite:/path/to/file",
    secret: true,
    parse(value) {
      if (!/^(mysql|sqlite):/.test(value)) throw new Error('must begin with "mysql:" or "sqlite:"');
      return value.startsWith('mysql:') ? mysqlUrl(value) : value;
    },
  };
}

/** Returns the setting for the url with which a service migrates its own database. */
export function migrationDatabaseUrl(env: string): Setting<string | undefined> {
  const { parse } = databaseUrl(env);
  return {
    env,
    description:
      'like the URL of the database, but with a user that may create and alter tables; used only when a migration is pending. With it, the user of the service needs access to rows only',
    default: undefined,
    secret: true,
    parse,
  };
}

/** Returns the database of this url as a part; connections are opened when first needed. */
export function databasePart(
  url: string,
  { log, fail }: Pick<ProcessHost, 'log' | 'fail'>,
  migrationUrl?: string,
): Part & { readonly db: Database } {
  const db = openDatabase(url, { log, migrationUrl, onSyncFailure: fail });
  return { name: 'database', db, start: async () => undefined, stop: () => db.close() };
}
