// Charges that operators gave up, and what the reconcile job knows of itself.
import type { Migration } from '#kit/db/migrate.js';

export const reconcile: Migration = {
  name: '0002-reconcile',
  statements: (sql) => [
    `CREATE TABLE closed_settlement (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      key_id ${sql.bytes(16)} NOT NULL,
      charge_nano_usd ${sql.int64} NOT NULL,
      attempts ${sql.int32} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      last_error ${sql.text(200)} NOT NULL,
      reason ${sql.text(500)} NOT NULL,
      closed_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    // One row a kind of run. Its blobs are messages of the contract.
    `CREATE TABLE reconcile_state (
      name ${sql.text(20)} NOT NULL PRIMARY KEY,
      due_at_ms ${sql.int64} NOT NULL,
      watermark_ms ${sql.int64} NOT NULL,
      page_token ${sql.text(200)} NOT NULL,
      progress ${sql.engine === 'sqlite' ? 'BLOB' : 'MEDIUMBLOB'} NOT NULL,
      result ${sql.engine === 'sqlite' ? 'BLOB' : 'MEDIUMBLOB'} NOT NULL
    ) ${sql.tableOptions}`,
  ],
};
