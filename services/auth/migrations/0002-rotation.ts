// Secrets of before, which a rotated key may be called with for a while.
import type { Migration } from '#kit/db/migrate.js';

/** A key's present secret stays in platform_key, so that the version before finds it where it always was. */
export const rotation: Migration = {
  name: '0002-rotation',
  statements: (sql) => [
    `ALTER TABLE platform_key ADD COLUMN secret_version ${sql.int64} NOT NULL DEFAULT 1`,
    `ALTER TABLE platform_key ADD COLUMN former_secrets_until_ms ${sql.int64} NULL`,
    `CREATE TABLE former_secret (
      secret_hash ${sql.bytes(32)} NOT NULL PRIMARY KEY,
      key_id ${sql.bytes(16)} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX former_secret_by_key ON former_secret (key_id, expires_at_ms)',
  ],
};
