// The users of a private MariaDB. Each service has a user with access to the rows of its own schema, and a user for migrations, which may also change
// the schema. There is a user for backups, which can only read, and an administrator.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** One schema per service, as in production; the user with access to its rows has the same name. */
export const schemas = ['tollgate_auth', 'tollgate_catalog', 'tollgate_ledger', 'tollgate_metering', 'tollgate_inference'] as const;

/** The user with all privileges, including creating schemas. */
export const adminUser = 'tollgate_admin';

/** The user for backups, which can read every schema and write none. */
export const backupUser = 'tollgate_backup';

/** Returns the user for the migrations of a schema. */
export function migrationUser(schema: string): string {
  return `${schema}_migrations`;
}

/** Passwords by user. */
export type Credentials = Readonly<Record<string, string>>;

/** Reads the passwords from the file. Creates it with random passwords, readable only by its owner, if it is missing. */
export function loadCredentials(path: string): Credentials {
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as Credentials;
  const credentials = Object.fromEntries(
    [adminUser, backupUser, ...schemas, ...schemas.map(migrationUser)].map((user) => [user, randomBytes(24).toString('hex')]),
  );
  // Renamed into place, so that a crash never leaves half a file behind.
  writeFileSync(`${path}.part`, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.part`, path);
  return credentials;
}

/** Returns statements, one per line, that create the schemas and users where they are missing; the server runs them at each start. */
export function initSql(credentials: Credentials): string {
  const statements: string[] = [];
  for (const [user, password] of Object.entries(credentials)) {
    statements.push(`CREATE USER IF NOT EXISTS '${user}'@'127.0.0.1'`, `ALTER USER '${user}'@'127.0.0.1' IDENTIFIED BY '${password}'`);
  }
  statements.push(`GRANT ALL PRIVILEGES ON *.* TO '${adminUser}'@'127.0.0.1'`);
  // BINLOG MONITOR and RELOAD: for the position in the binary log. REPLICATION SLAVE: to copy it with mariadb-binlog.
  statements.push(`GRANT BINLOG MONITOR, RELOAD, REPLICATION SLAVE ON *.* TO '${backupUser}'@'127.0.0.1'`);
  for (const schema of schemas) {
    statements.push(`CREATE DATABASE IF NOT EXISTS ${schema} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
    // An unescaped underscore in a grant matches any character.
    const pattern = `\`${schema.replaceAll('_', '\\_')}\`.*`;
    statements.push(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${pattern} TO '${schema}'@'127.0.0.1'`);
    statements.push(`GRANT ALL PRIVILEGES ON ${pattern} TO '${migrationUser(schema)}'@'127.0.0.1'`);
    statements.push(`GRANT SELECT, SHOW VIEW, TRIGGER ON ${pattern} TO '${backupUser}'@'127.0.0.1'`);
  }
  return statements.map((statement) => `${statement};\n`).join('');
}
