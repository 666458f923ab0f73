// Links by which people set a new password when they have forgotten theirs.
import type { Migration } from '#kit/db/migrate.js';

/** Of a token only the SHA-256 is kept, and the address to which it was mailed: it is of no use once the person has another. */
export const passwordReset: Migration = {
  name: '0007-password-reset',
  statements: (sql) => [
    `CREATE TABLE password_reset (
      token_hash ${sql.bytes(32)} NOT NULL PRIMARY KEY,
      user_id ${sql.bytes(16)} NOT NULL,
      email ${sql.text(254)} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX password_reset_by_user ON password_reset (user_id)',
    'CREATE INDEX password_reset_by_end ON password_reset (expires_at_ms)',
  ],
};
