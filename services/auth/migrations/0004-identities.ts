// Identities at providers by which people sign in, and whether somebody has vouched for a person's e-mail address.
import type { Migration } from '#kit/db/migrate.js';

/** Of the people from before it is not known who came by invitation and who by the operator, so that none is taken for proven. */
export const identities: Migration = {
  name: '0004-identities',
  statements: (sql) => [
    `ALTER TABLE person ADD COLUMN email_is_proven ${sql.int32} NOT NULL DEFAULT 0`,
    // identity_hash is the SHA-256 of issuer and subject.
    `CREATE TABLE person_identity (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      identity_hash ${sql.bytes(32)} NOT NULL,
      user_id ${sql.bytes(16)} NOT NULL,
      issuer ${sql.text(300)} NOT NULL,
      subject ${sql.text(255)} NOT NULL,
      email ${sql.text(254)} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX person_identity_by_hash ON person_identity (identity_hash)',
    'CREATE INDEX person_identity_by_user ON person_identity (user_id)',
  ],
};
