// The upstreams that operators add (built-in and configured ones are not stored), and the latest test of each upstream.
import { auditOutboxTable } from '#kit/audit/audit-outbox.js';
import type { Migration } from '#kit/db/migrate.js';

export const schema: Migration = {
  name: '0001-schema',
  statements: (sql) => [
    `CREATE TABLE upstream (
      id ${sql.text(64)} NOT NULL PRIMARY KEY,
      api_format ${sql.int32} NOT NULL,
      base_url ${sql.text(2048)} NOT NULL,
      sealed_secret ${sql.text(2048)},
      secret_last_four ${sql.text(4)} NOT NULL,
      allow_private_network ${sql.int32} NOT NULL,
      enabled ${sql.int32} NOT NULL,
      whole_answers ${sql.int32} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    // One row per upstream, managed ones included.
    `CREATE TABLE upstream_test (
      upstream_id ${sql.text(64)} NOT NULL PRIMARY KEY,
      at_ms ${sql.int64} NOT NULL,
      result ${sql.longBytes} NOT NULL
    ) ${sql.tableOptions}`,

    auditOutboxTable(sql, 'inference'),
  ],
};
