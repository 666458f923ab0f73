// People, their sessions and places in accounts, and the log of what was done.
import type { Migration } from '#kit/db/migrate.js';

/** Tokens are stored as SHA-256 only, passwords as Argon2id. */
export const people: Migration = {
  name: '0003-people',
  statements: (sql) => [
    `CREATE TABLE person (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      email ${sql.text(254)} NOT NULL,
      name ${sql.text(200)} NOT NULL,
      password ${sql.text(200)} NULL,
      is_operator ${sql.int32} NOT NULL CHECK (is_operator IN (0, 1)),
      is_disabled ${sql.int32} NOT NULL CHECK (is_disabled IN (0, 1)),
      created_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX person_by_email ON person (email)',

    `CREATE TABLE session (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      token_hash ${sql.bytes(32)} NOT NULL,
      user_id ${sql.bytes(16)} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      last_used_at_ms ${sql.int64} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL,
      address ${sql.text(64)} NOT NULL,
      user_agent ${sql.text(300)} NOT NULL,
      by_link ${sql.int32} NOT NULL CHECK (by_link IN (0, 1))
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX session_by_token ON session (token_hash)',
    'CREATE INDEX session_by_user ON session (user_id, expires_at_ms)',
    'CREATE INDEX session_by_end ON session (expires_at_ms)',

    `CREATE TABLE sign_in_link (
      token_hash ${sql.bytes(32)} NOT NULL PRIMARY KEY,
      user_id ${sql.bytes(16)} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX sign_in_link_by_user ON sign_in_link (user_id)',

    // scope_hash is the SHA-256 of an e-mail address or of a network address.
    `CREATE TABLE sign_in_failure (
      scope_hash ${sql.bytes(32)} NOT NULL PRIMARY KEY,
      since_ms ${sql.int64} NOT NULL,
      failures ${sql.int32} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX sign_in_failure_by_age ON sign_in_failure (since_ms)',

    `CREATE TABLE member (
      account_id ${sql.bytes(16)} NOT NULL,
      user_id ${sql.bytes(16)} NOT NULL,
      role ${sql.int32} NOT NULL CHECK (role BETWEEN 1 AND 5),
      since_ms ${sql.int64} NOT NULL,
      PRIMARY KEY (account_id, user_id)
    ) ${sql.tableOptions}`,
    'CREATE INDEX member_by_user ON member (user_id)',

    `CREATE TABLE invitation (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      token_hash ${sql.bytes(32)} NOT NULL,
      account_id ${sql.bytes(16)} NOT NULL,
      email ${sql.text(254)} NOT NULL,
      role ${sql.int32} NOT NULL CHECK (role BETWEEN 1 AND 5),
      invited_by ${sql.bytes(16)} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX invitation_by_token ON invitation (token_hash)',
    'CREATE UNIQUE INDEX invitation_by_address ON invitation (account_id, email)',

    `CREATE TABLE audit_entry (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      at_ms ${sql.int64} NOT NULL,
      actor_user_id ${sql.text(40)} NOT NULL,
      actor_name ${sql.text(200)} NOT NULL,
      client_address ${sql.text(64)} NOT NULL,
      account_id ${sql.text(40)} NOT NULL,
      action ${sql.text(64)} NOT NULL,
      target_id ${sql.text(200)} NOT NULL,
      detail ${sql.longText} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX audit_entry_by_account ON audit_entry (account_id, id)',
  ],
};
