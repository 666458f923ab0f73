// Sums of usage over quarters of an hour, four hours and four days, and what they do not hold yet.
import type { Migration } from '#kit/db/migrate.js';

/** New tables only: records of the version before, which does not know them, are found by the backfill or by the comparison with the records. */
export const rollups: Migration = {
  name: '0004-rollups',
  statements: (sql) => [
    // Added in the transaction of a record, removed in that which adds the record to the sums.
    `CREATE TABLE usage_unfolded (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL
    ) ${sql.tableOptions}`,
    // Numbers for what calls are told apart by, so that the many rows of sums are short. Found by a hash, since texts are compared otherwise
    // by each engine.
    `CREATE TABLE usage_series (
      account_id ${sql.bytes(16)} NOT NULL,
      dimensions_hash ${sql.bytes(16)} NOT NULL,
      shape ${sql.int32} NOT NULL,
      series ${sql.int32} NOT NULL,
      key_id ${sql.bytes(16)} NOT NULL,
      model_id ${sql.text(200)} NOT NULL,
      ending ${sql.int32} NOT NULL,
      PRIMARY KEY (account_id, dimensions_hash)
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX usage_series_by_number ON usage_series (account_id, shape, series)',
    `CREATE TABLE usage_rollup (
      account_id ${sql.bytes(16)} NOT NULL,
      part ${sql.int32} NOT NULL,
      series ${sql.int32} NOT NULL,
      bucket_ms ${sql.int64} NOT NULL,
      calls ${sql.int64} NOT NULL,
      errors ${sql.int64} NOT NULL,
      quarantined ${sql.int64} NOT NULL,
      charge_nano_usd ${sql.int64} NOT NULL,
      input_tokens ${sql.int64} NOT NULL,
      cache_read_tokens ${sql.int64} NOT NULL,
      cache_write_tokens ${sql.int64} NOT NULL,
      output_tokens ${sql.int64} NOT NULL,
      reasoning_tokens ${sql.int64} NOT NULL,
      duration_ms ${sql.int64} NOT NULL,
      first_output_calls ${sql.int64} NOT NULL,
      first_output_ms ${sql.int64} NOT NULL,
      PRIMARY KEY (account_id, part, series, bucket_ms)
    ) ${sql.tableOptions}`,
    // One row. Whoever changes sums changes it first, so that they do so one after another, on all nodes of a cluster.
    `CREATE TABLE usage_fold (
      name ${sql.text(20)} NOT NULL PRIMARY KEY,
      version ${sql.int64} NOT NULL,
      epoch ${sql.int64} NOT NULL,
      phase ${sql.int32} NOT NULL,
      watermark ${sql.bytes(16)} NOT NULL,
      leased_by ${sql.bytes(16)} NOT NULL,
      lease_until_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
  ],
};
