// What operators ask for: accounts by name, why one is suspended, and a log of deeds whose entries are chained.
import type { Migration } from '#kit/db/migrate.js';

/** Entries of before have no number and no hash. */
export const operator: Migration = {
  name: '0005-operator',
  statements: (sql) => [
    // The name in small letters as JavaScript makes them, which may be longer than the name; empty for names of before.
    `ALTER TABLE account ADD COLUMN search_name ${sql.text(600)} NOT NULL DEFAULT ''`,
    `ALTER TABLE account ADD COLUMN state_reason ${sql.text(500)} NOT NULL DEFAULT ''`,

    `ALTER TABLE audit_entry ADD COLUMN number ${sql.int64} NULL`,
    `ALTER TABLE audit_entry ADD COLUMN hash ${sql.bytes(32)} NULL`,
    'CREATE UNIQUE INDEX audit_entry_by_number ON audit_entry (number)',
    'CREATE INDEX audit_entry_by_actor ON audit_entry (actor_user_id, id)',
    'CREATE INDEX audit_entry_by_action ON audit_entry (action, id)',
    'CREATE INDEX audit_entry_by_target ON audit_entry (target_id, id)',

    // One row: the end of the chain. Its lock makes entries one after another.
    `CREATE TABLE audit_chain (
      id ${sql.int32} NOT NULL PRIMARY KEY CHECK (id = 1),
      last_number ${sql.int64} NOT NULL,
      last_hash ${sql.bytes(32)} NOT NULL
    ) ${sql.tableOptions}`,
    `INSERT INTO audit_chain (id, last_number, last_hash) VALUES (1, 0, x'${'00'.repeat(32)}')`,
  ],
};
