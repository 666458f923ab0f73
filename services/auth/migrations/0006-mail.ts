// How the mails of invitations stand, and how many mails went out.
import type { Migration } from '#kit/db/migrate.js';

/** Invitations of before were not mailed. */
export const mail: Migration = {
  name: '0006-mail',
  statements: (sql) => [
    // As in MailState of people.proto; a mail that is pending after mail_until_ms is one that nobody sends any more.
    `ALTER TABLE invitation ADD COLUMN mail_state ${sql.int32} NOT NULL DEFAULT 0`,
    `ALTER TABLE invitation ADD COLUMN mail_words ${sql.text(400)} NOT NULL DEFAULT ''`,
    `ALTER TABLE invitation ADD COLUMN mail_until_ms ${sql.int64} NOT NULL DEFAULT 0`,

    // scope_hash is the SHA-256 of what the mails are counted for, such as an account or an address.
    `CREATE TABLE mail_count (
      scope_hash ${sql.bytes(32)} NOT NULL PRIMARY KEY,
      since_ms ${sql.int64} NOT NULL,
      mails ${sql.int32} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX mail_count_by_age ON mail_count (since_ms)',
  ],
};
