// Usage records, calls in flight, settlements to deliver, keyed calls, sums of usage, and refused calls.
import { auditOutboxTable } from '#kit/audit/audit-outbox.js';
import type { Migration } from '#kit/db/migrations/migrate.js';

/**
 * Ids are UUIDv7 and lead every primary key, so that new rows are added at its end. Counts are 64-bit columns because
 * a token count may need all 32 bits and INT is signed on MySQL.
 */
export const schema: Migration = {
  name: '0001-metering',
  statements: (sql) => [
    // The attempts are text (`store/records/attempt-text.ts`) rather than rows: nearly every call has one attempt, which is then five bytes.
    // So are the units that are not tokens (`store/records/unit-text.ts`): most prices have none, and the column is NULL.
    `CREATE TABLE usage_record (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      project_id ${sql.bytes(16)} NOT NULL,
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
      outcome ${sql.int32} NOT NULL,
      outcome_detail ${sql.text(200)} NOT NULL,
      free ${sql.int32} NOT NULL,
      quarantined ${sql.int32} NOT NULL,
      charge_nano_usd ${sql.int64} NOT NULL CHECK (charge_nano_usd >= 0),
      first_output_ms ${sql.int64},
      duration_ms ${sql.int64} NOT NULL,
      recorded_at_ms ${sql.int64} NOT NULL,
      captured_nano_usd ${sql.int64},
      shortfall_nano_usd ${sql.int64},
      settled_at_ms ${sql.int64},
      attempts ${sql.longText},
      model_fallback ${sql.longText},
      units ${sql.longText},
      product ${sql.text(32)}
    ) ${sql.tableOptions}`,
    // In page order. A page of one model, outcome or project is found within the index of the account: another index would cost every call a page of the
    // file.
    'CREATE INDEX usage_record_by_account ON usage_record (account_id, started_at_ms, id, model_id, outcome, project_id)',
    'CREATE INDEX usage_record_by_key ON usage_record (account_id, key_id, started_at_ms, id)',
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
    `CREATE TABLE refund_outbox (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      state ${sql.int32} NOT NULL,
      attempts ${sql.int32} NOT NULL,
      next_attempt_at_ms ${sql.int64} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      last_error ${sql.text(200)} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX refund_outbox_by_due ON refund_outbox (state, next_attempt_at_ms)',
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
    // One row per kind of run. Its blobs are messages of the contract.
    `CREATE TABLE reconcile_state (
      name ${sql.text(20)} NOT NULL PRIMARY KEY,
      due_at_ms ${sql.int64} NOT NULL,
      watermark_ms ${sql.int64} NOT NULL,
      page_token ${sql.text(200)} NOT NULL,
      progress ${sql.longBytes} NOT NULL,
      result ${sql.longBytes} NOT NULL
    ) ${sql.tableOptions}`,
    // The parts of stored responses are rows in it too: they expire, count and are deleted like the responses under keys.
    `CREATE TABLE idempotency_key (
      account_id ${sql.bytes(16)} NOT NULL,
      key_hash ${sql.bytes(32)} NOT NULL,
      fingerprint ${sql.bytes(32)} NOT NULL,
      call_id ${sql.bytes(16)} NOT NULL,
      state ${sql.int32} NOT NULL,
      lease_until_ms ${sql.int64} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL,
      kept_bytes ${sql.int64} NOT NULL,
      kept_ms ${sql.int64} NOT NULL,
      awaited_until_ms ${sql.int64} NOT NULL,
      PRIMARY KEY (account_id, key_hash)
    ) ${sql.tableOptions}`,
    'CREATE INDEX idempotency_key_by_expiry ON idempotency_key (expires_at_ms)',
    // Separate from the keys, so that looking one up does not read responses.
    `CREATE TABLE stored_answer (
      account_id ${sql.bytes(16)} NOT NULL,
      key_hash ${sql.bytes(32)} NOT NULL,
      answer ${sql.longBytes} NOT NULL,
      PRIMARY KEY (account_id, key_hash)
    ) ${sql.tableOptions}`,
    `CREATE TABLE kept_total (
      account_id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      answers ${sql.int64} NOT NULL,
      bytes ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    // What became of the prompts and answers of calls whose projects log them (`PromptLogState`). The row is added with the record, or with the body
    // if that arrives first.
    `CREATE TABLE prompt_log (
      call_id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      project_id ${sql.bytes(16)} NOT NULL,
      state ${sql.int32} NOT NULL,
      started_at_ms ${sql.int64} NOT NULL,
      expires_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX prompt_log_by_project ON prompt_log (account_id, project_id, started_at_ms)',
    'CREATE INDEX prompt_log_by_expiry ON prompt_log (expires_at_ms)',
    // A separate table, so that no search reads bodies. They are encrypted with the key of the account, and are the last column.
    `CREATE TABLE prompt_log_body (
      account_id ${sql.bytes(16)} NOT NULL,
      call_id ${sql.bytes(16)} NOT NULL,
      kept_bytes ${sql.int64} NOT NULL,
      sealed ${sql.longBytes} NOT NULL,
      PRIMARY KEY (account_id, call_id)
    ) ${sql.tableOptions}`,
    // The key of each account with a log, encrypted with the installation's, and how many bytes the account keeps. Every change of bodies locks the
    // row first.
    `CREATE TABLE prompt_log_account (
      account_id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      sealed_key ${sql.text(200)} NOT NULL,
      kept_bytes ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    // Records that are not in the sums yet. A row is added in the record's transaction, and removed in the one that adds the record to the sums.
    `CREATE TABLE usage_unfolded (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL
    ) ${sql.tableOptions}`,
    // Numbers for combinations of dimensions, which keep the many rows of sums short. Looked up by a hash, since each engine compares texts in
    // its own way.
    `CREATE TABLE usage_series (
      account_id ${sql.bytes(16)} NOT NULL,
      dimensions_hash ${sql.bytes(16)} NOT NULL,
      shape ${sql.int32} NOT NULL,
      series ${sql.int32} NOT NULL,
      project_id ${sql.bytes(16)} NOT NULL,
      key_id ${sql.bytes(16)} NOT NULL,
      model_id ${sql.text(200)} NOT NULL,
      outcome ${sql.int32} NOT NULL,
      PRIMARY KEY (account_id, dimensions_hash)
    ) ${sql.tableOptions}`,
    'CREATE UNIQUE INDEX usage_series_by_number ON usage_series (account_id, shape, series)',
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
    // Sums of units other than tokens. Calls have rows here only if their price has such a unit.
    `CREATE TABLE usage_unit_sum (
      account_id ${sql.bytes(16)} NOT NULL,
      quarter_ms ${sql.int64} NOT NULL,
      project_id ${sql.bytes(16)} NOT NULL,
      key_id ${sql.bytes(16)} NOT NULL,
      model_id ${sql.text(200)} NOT NULL,
      outcome ${sql.int32} NOT NULL,
      unit ${sql.text(32)} NOT NULL,
      quantity ${sql.int64} NOT NULL,
      charge_nano_usd ${sql.int64} NOT NULL,
      PRIMARY KEY (account_id, quarter_ms, project_id, key_id, model_id, outcome, unit)
    ) ${sql.tableOptions}`,
    // One row, the state of the sums (`Phase` in store/sums/rollup-steps.ts). Every change of sums updates it first, so that changes happen one after
    // another, on all nodes of a cluster too.
    `CREATE TABLE usage_summing (
      name ${sql.text(20)} NOT NULL PRIMARY KEY,
      version ${sql.int64} NOT NULL,
      epoch ${sql.int64} NOT NULL,
      phase ${sql.int32} NOT NULL,
      watermark ${sql.bytes(16)} NOT NULL,
      leased_by ${sql.bytes(16)} NOT NULL,
      lease_until_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    `INSERT INTO usage_summing (name, version, epoch, phase, watermark, leased_by, lease_until_ms)
      VALUES ('sums', 0, 1, 2, x'${'00'.repeat(16)}', x'${'00'.repeat(16)}', 0)`,

    // One row: records of calls that started before this instant may be in the archive's files.
    `CREATE TABLE usage_archive (
      name ${sql.text(20)} NOT NULL PRIMARY KEY,
      until_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    `INSERT INTO usage_archive (name, until_ms) VALUES ('records', 0)`,

    // Exact counts of refused calls; an empty model_id stands for the models that the catalog does not have. `examples` says how many of
    // these calls were stored in `refusal`.
    `CREATE TABLE refusal_count (
      account_id ${sql.bytes(16)} NOT NULL,
      quarter_ms ${sql.int64} NOT NULL,
      project_id ${sql.bytes(16)} NOT NULL,
      key_id ${sql.bytes(16)} NOT NULL,
      model_id ${sql.text(200)} NOT NULL,
      reason ${sql.text(64)} NOT NULL,
      calls ${sql.int64} NOT NULL,
      examples ${sql.int64} NOT NULL,
      PRIMARY KEY (account_id, quarter_ms, project_id, key_id, model_id, reason)
    ) ${sql.tableOptions}`,
    'CREATE INDEX refusal_count_by_quarter ON refusal_count (quarter_ms)',
    `CREATE TABLE refusal (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      account_id ${sql.bytes(16)} NOT NULL,
      project_id ${sql.bytes(16)} NOT NULL,
      key_id ${sql.bytes(16)} NOT NULL,
      model_id ${sql.text(200)} NOT NULL,
      requested_model ${sql.text(200)} NOT NULL,
      reason ${sql.text(64)} NOT NULL,
      http_status ${sql.int32} NOT NULL,
      refused_at_ms ${sql.int64} NOT NULL,
      endpoint ${sql.text(40)} NOT NULL,
      message ${sql.text(1000)} NOT NULL,
      details ${sql.longText} NOT NULL,
      retry_after_ms ${sql.int64},
      trace_id ${sql.text(32)} NOT NULL,
      client_request_id ${sql.text(128)} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX refusal_by_account ON refusal (account_id, refused_at_ms, id, key_id, reason)',
    'CREATE INDEX refusal_by_time ON refusal (refused_at_ms, id)',
    // The batches of refusals that are stored, so that one that is sent again is not counted twice.
    `CREATE TABLE refusal_batch (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      stored_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'CREATE INDEX refusal_batch_by_time ON refusal_batch (stored_at_ms)',
    // The last series of refused calls of each key and reason. `alert_due_ms` is when the alert about its beginning is sent, or sent again by
    // another replica; 0 once the ledger has it.
    `CREATE TABLE refused_key (
      account_id ${sql.bytes(16)} NOT NULL,
      key_id ${sql.bytes(16)} NOT NULL,
      reason ${sql.text(64)} NOT NULL,
      project_id ${sql.bytes(16)} NOT NULL,
      since_ms ${sql.int64} NOT NULL,
      last_at_ms ${sql.int64} NOT NULL,
      alerted_at_ms ${sql.int64} NOT NULL,
      alert_due_ms ${sql.int64} NOT NULL,
      PRIMARY KEY (account_id, key_id, reason)
    ) ${sql.tableOptions}`,
    'CREATE INDEX refused_key_by_alert ON refused_key (alert_due_ms)',
    'CREATE INDEX refused_key_by_time ON refused_key (last_at_ms)',

    auditOutboxTable(sql, 'metering'),
  ],
};
