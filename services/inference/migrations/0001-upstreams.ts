// The upstreams that operators add; built-in and configured ones are not stored.
import type { Migration } from '#kit/db/migrate.js';

/** Creates the table `upstream`. */
export const upstreams: Migration = {
  name: '0001-upstreams',
  statements: (sql) => [
    `CREATE TABLE upstream (
      id ${sql.text(64)} NOT NULL PRIMARY KEY,
      wire_format ${sql.int32} NOT NULL,
      base_url ${sql.text(2048)} NOT NULL,
      sealed_secret ${sql.text(2048)},
      secret_last_four ${sql.text(4)} NOT NULL,
      allow_private_network ${sql.int32} NOT NULL,
      enabled ${sql.int32} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
  ],
};
