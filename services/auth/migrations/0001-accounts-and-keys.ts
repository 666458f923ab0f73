// Accounts, platform keys, what idempotency keys created, and the counter that orders changes.
import type { Migration } from '#kit/db/migrate.js';

/** The first schema of auth. */
export const accountsAndKeys: Migration = {
  name: '0001-accounts-and-keys',
  statements: (sql) => [
    // States are the numbers of the protobuf enums.
    `CREATE TABLE account (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      name ${sql.text(200)} NOT NULL,
      state ${sql.int32} NOT NULL CHECK (state IN (1, 2)),
      created_at_ms ${sql.int64} NOT NULL,
      version ${sql.int64} NOT NULL,
      change_number ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX account_by_change ON account (change_number)',

    // model_ids is a JSON list, or NULL for all current and future models.
    `CREATE TABLE platform_key (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      secret_hash ${sql.bytes(32)} NOT NULL,
      last_four ${sql.text(4)} NOT NULL,
      name ${sql.text(200)} NOT NULL,
      model_ids ${sql.longText} NULL,
      lifetime_limit_nano_usd ${sql.int64} NULL CHECK (lifetime_limit_nano_usd > 0),
      expires_at_ms ${sql.int64} NULL,
      state ${sql.int32} NOT NULL CHECK (state IN (1, 2, 3)),
      created_at_ms ${sql.int64} NOT NULL,
      revoked_at_ms ${sql.int64} NULL,
      version ${sql.int64} NOT NULL,
      change_number ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX platform_key_by_secret ON platform_key (secret_hash)',
    'CREATE INDEX platform_key_by_account ON platform_key (account_id, id)',
    'CREATE UNIQUE INDEX platform_key_by_change ON platform_key (change_number)',

    `CREATE TABLE idempotency (
      method ${sql.text(50)} NOT NULL,
      idempotency_key ${sql.text(200)} NOT NULL,
      created_id ${sql.bytes(16)} NOT NULL,
      fingerprint ${sql.bytes(32)} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      PRIMARY KEY (method, idempotency_key)
    ) ${sql.tableOptions}`,

    // One row. Its lock makes commits happen in the order of their numbers, so that whoever has seen number n has missed nothing below.
    `CREATE TABLE change_counter (
      id ${sql.int32} NOT NULL PRIMARY KEY CHECK (id = 1),
      last_number ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'INSERT INTO change_counter (id, last_number) VALUES (1, 0)',
  ],
};
