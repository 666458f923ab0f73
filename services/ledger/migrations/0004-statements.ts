// For statements by month: an account's further sums, what they were at the beginning of each month, and where entries are that are no
// charges. Code that does not know them leaves the sums behind the journal, which the month keeper makes up for.
import type { Migration } from '#kit/db/migrate.js';

export const statements: Migration = {
  name: '0004-statements',
  statements(sql) {
    const slot = sql.engine === 'sqlite' ? 'INTEGER' : 'SMALLINT';
    const id = sql.bytes(16);
    return [
      `ALTER TABLE bucket ADD COLUMN month ${sql.int32} NOT NULL DEFAULT 0`,
      `ALTER TABLE bucket ADD COLUMN deposited_nano_usd ${sql.int64} NOT NULL DEFAULT 0`,
      `ALTER TABLE bucket ADD COLUMN refunded_nano_usd ${sql.int64} NOT NULL DEFAULT 0`,
      `ALTER TABLE bucket ADD COLUMN summed_seq ${sql.int64} NOT NULL DEFAULT 0`,
      `CREATE TABLE journal_month (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        month ${sql.int32} NOT NULL,
        first_seq ${sql.int64} NOT NULL,
        credited_nano_usd ${sql.int64} NOT NULL,
        spent_nano_usd ${sql.int64} NOT NULL,
        deposited_nano_usd ${sql.int64} NOT NULL,
        refunded_nano_usd ${sql.int64} NOT NULL,
        PRIMARY KEY (slot, account_id, month)
      ) ${sql.tableOptions}`,
      `CREATE TABLE journal_note (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        seq ${sql.int64} NOT NULL,
        kind ${sql.int32} NOT NULL,
        PRIMARY KEY (slot, account_id, seq)
      ) ${sql.tableOptions}`,
    ];
  },
};
