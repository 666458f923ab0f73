// Calls under an idempotency key, and the answers that are kept of them.
import type { Migration } from '#kit/db/migrate.js';

/** New tables only: the version before does not know them, and records calls as ever. */
export const keyedCalls: Migration = {
  name: '0003-keyed-calls',
  statements: (sql) => [
    `CREATE TABLE idempotency_key (
      account_id ${sql.bytes(16)} NOT NULL,
      key_hash ${sql.bytes(32)} NOT NULL,
      fingerprint ${sql.bytes(32)} NOT NULL,
      call_id ${sql.bytes(16)} NOT NULL,
      state ${sql.int32} NOT NULL,
      lease_until_ms ${sql.int64} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL,
      kept_bytes ${sql.int64} NOT NULL,
      PRIMARY KEY (account_id, key_hash)
    ) ${sql.tableOptions}`,
    'CREATE INDEX idempotency_key_by_expiry ON idempotency_key (expires_at_ms)',
    // Apart from the keys, so that looking one up does not read answers.
    `CREATE TABLE kept_answer (
      account_id ${sql.bytes(16)} NOT NULL,
      call_id ${sql.bytes(16)} NOT NULL,
      answer ${sql.longBytes} NOT NULL,
      PRIMARY KEY (account_id, call_id)
    ) ${sql.tableOptions}`,
    `CREATE TABLE kept_total (
      account_id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      answers ${sql.int64} NOT NULL,
      bytes ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
  ],
};
