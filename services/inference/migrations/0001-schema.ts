// The upstreams that operators add (built-in and configured ones are not stored), the latest test of each upstream, and the overrides and health of targets.
import { auditOutboxTable } from '#kit/audit/audit-outbox.js';
import type { Migration } from '#kit/db/migrations/migrate.js';

export const schema: Migration = {
  name: '0001-schema',
  statements: (sql) => [
    `CREATE TABLE upstream (
      id ${sql.text(64)} NOT NULL PRIMARY KEY,
      api_format ${sql.int32} NOT NULL,
      base_url ${sql.text(2048)} NOT NULL,
      credentials ${sql.longBytes} NOT NULL,
      allow_private_network ${sql.int32} NOT NULL,
      enabled ${sql.int32} NOT NULL,
      whole_answers ${sql.int32} NOT NULL,
      connect_timeout_ms ${sql.int64},
      first_token_timeout_ms ${sql.int64},
      slow_first_token_ms ${sql.int64},
      idle_timeout_ms ${sql.int64},
      total_timeout_ms ${sql.int64},
      calls_max ${sql.int64},
      requests_per_minute ${sql.int64},
      tokens_per_minute ${sql.int64},
      probe_interval_ms ${sql.int64},
      allowed_fields ${sql.text(3072)} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    // One row per upstream, managed ones included.
    `CREATE TABLE upstream_test (
      upstream_id ${sql.text(64)} NOT NULL PRIMARY KEY,
      at_ms ${sql.int64} NOT NULL,
      result ${sql.longBytes} NOT NULL
    ) ${sql.tableOptions}`,
    // The overrides that operators set for targets and their credentials; credential_id is empty for a target itself. Every process applies them.
    `CREATE TABLE target_override (
      upstream_id ${sql.text(64)} NOT NULL,
      upstream_model ${sql.text(200)} NOT NULL,
      credential_id ${sql.text(64)} NOT NULL,
      mode ${sql.int32} NOT NULL,
      until_ms ${sql.int64} NOT NULL,
      set_at_ms ${sql.int64} NOT NULL,
      PRIMARY KEY (upstream_id, upstream_model, credential_id)
    ) ${sql.tableOptions}`,
    // The targets that each process and thread reports: those out of service, or all while an operator watches.
    `CREATE TABLE target_health (
      instance ${sql.text(64)} NOT NULL PRIMARY KEY,
      at_ms ${sql.int64} NOT NULL,
      targets ${sql.longBytes} NOT NULL
    ) ${sql.tableOptions}`,

    auditOutboxTable(sql, 'inference'),
  ],
};
