// Sums of usage by more of what calls have in common, and by the hour.
import type { Migration } from '#kit/db/migrate.js';

/**
 * Beside those of 0004-rollups, to which the version before adds what it knows of as long as it runs: see store/fold.ts. Numbers of series and
 * what is not summed yet are common to both.
 */
export const sums: Migration = {
  name: '0006-sums',
  statements: (sql) => [
    `CREATE TABLE usage_sum (
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
    `CREATE TABLE usage_summing (
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
