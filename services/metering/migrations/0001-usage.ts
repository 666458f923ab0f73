// Usage records, calls in flight and settlements to deliver.
import type { Migration } from '#kit/db/migrate.js';

/**
 * Ids are UUIDv7 and come first in every primary key, so that new rows go to the end of it. Counts are 64-bit columns because
 * a token count may need all 32 bits and INT is signed on MySQL.
 */
export const usage: Migration = {
  name: '0001-usage',
  statements: (sql) => [
    `CREATE TABLE usage_record (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      key_id ${sql.bytes(16)} NOT NULL,
      model_id ${sql.text(200)} NOT NULL,
      upstream_id ${sql.text(200)} NOT NULL,
      upstream_model ${sql.text(200)} NOT NULL,
      format ${sql.int32} NOT NULL,
      streaming ${sql.int32} NOT NULL,
      held_nano_usd ${sql.int64} NOT NULL,
      output_cap_tokens ${sql.int64} NOT NULL,
      started_at_ms ${sql.int64} NOT NULL,
      trace_id ${sql.text(32)} NOT NULL,
      client_request_id ${sql.text(128)} NOT NULL,
      price_id ${sql.bytes(16)} NOT NULL,
      price_model_id ${sql.text(200)} NOT NULL,
      price_effective_from_ms ${sql.int64} NOT NULL,
      price_created_at_ms ${sql.int64} NOT NULL,
      input_nano_usd_per_mtok ${sql.int64} NOT NULL,
      cache_read_nano_usd_per_mtok ${sql.int64} NOT NULL,
      cache_write_5m_nano_usd_per_mtok ${sql.int64} NOT NULL,
      cache_write_1h_nano_usd_per_mtok ${sql.int64} NOT NULL,
      output_nano_usd_per_mtok ${sql.int64} NOT NULL,
      reasoning_nano_usd_per_mtok ${sql.int64},
      input_tokens ${sql.int64} NOT NULL,
      cache_read_tokens ${sql.int64} NOT NULL,
      cache_write_5m_tokens ${sql.int64} NOT NULL,
      cache_write_1h_tokens ${sql.int64} NOT NULL,
      output_tokens ${sql.int64} NOT NULL,
      reasoning_tokens ${sql.int64} NOT NULL,
      source ${sql.int32} NOT NULL,
      ending ${sql.int32} NOT NULL,
      ending_detail ${sql.text(200)} NOT NULL,
      free ${sql.int32} NOT NULL,
      quarantined ${sql.int32} NOT NULL,
      charge_nano_usd ${sql.int64} NOT NULL CHECK (charge_nano_usd >= 0),
      first_output_ms ${sql.int64},
      duration_ms ${sql.int64} NOT NULL,
      recorded_at_ms ${sql.int64} NOT NULL,
      captured_nano_usd ${sql.int64},
      shortfall_nano_usd ${sql.int64},
      settled_at_ms ${sql.int64}
    ) ${sql.tableOptions}`,
    // One index for each way people look through records, in the order of the pages.
    'CREATE INDEX usage_record_by_account ON usage_record (account_id, started_at_ms, id)',
    'CREATE INDEX usage_record_by_key ON usage_record (account_id, key_id, started_at_ms, id)',
    'CREATE INDEX usage_record_by_model ON usage_record (account_id, model_id, started_at_ms, id)',
    'CREATE INDEX usage_record_by_ending ON usage_record (account_id, ending, started_at_ms, id)',
    'CREATE INDEX usage_record_by_start ON usage_record (started_at_ms, id)',
    `CREATE TABLE open_call (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      draft BLOB NOT NULL,
      last_seen_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX open_call_by_last_seen ON open_call (last_seen_at_ms)',
    `CREATE TABLE outbox (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      key_id ${sql.bytes(16)} NOT NULL,
      charge_nano_usd ${sql.int64} NOT NULL,
      state ${sql.int32} NOT NULL,
      attempts ${sql.int32} NOT NULL,
      next_attempt_at_ms ${sql.int64} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      last_error ${sql.text(200)} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX outbox_by_due ON outbox (state, next_attempt_at_ms)',
  ],
};
