// For journals that grow for years: what the archived beginning of an account's journal added up to, and the day of an entry, by which
// MySQL can keep the journal in partitions. Code that does not know the day writes 0, which the archiver makes right.
import type { Migration } from '#kit/db/migrate.js';

export const archive: Migration = {
  name: '0003-archive',
  statements(sql) {
    const slot = sql.engine === 'sqlite' ? 'INTEGER' : 'SMALLINT';
    return [
      `CREATE TABLE journal_base (
        slot ${slot} NOT NULL,
        account_id ${sql.bytes(16)} NOT NULL,
        seq ${sql.int64} NOT NULL,
        until_ms ${sql.int64} NOT NULL,
        sums ${sql.longText} NOT NULL,
        PRIMARY KEY (slot, account_id)
      ) ${sql.tableOptions}`,
      `ALTER TABLE journal ADD COLUMN day ${sql.int32} NOT NULL DEFAULT 0`,
      // A partition's column must be part of every unique key (MySQL manual, "Partitioning Keys, Primary Keys, and Unique Keys"). Two
      // writers of one number still collide unless midnight lies between them, and the lock of the account's bucket keeps them apart.
      ...(sql.engine === 'mysql' ? ['ALTER TABLE journal DROP PRIMARY KEY, ADD PRIMARY KEY (slot, account_id, seq, day)'] : []),
    ];
  },
};
