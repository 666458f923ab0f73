// Models, dated prices, price drafts, and the revision by which replicas notice each other's changes.
import { auditOutboxTable } from '#kit/audit/audit-outbox.js';
import type { Migration } from '#kit/db/migrations/migrate.js';

export const schema: Migration = {
  name: '0001-schema',
  statements: (sql) => [
    // One row. Every change locks it first, so that changes happen one after another on all replicas.
    `CREATE TABLE catalog_state (
      id ${sql.int32} NOT NULL PRIMARY KEY,
      revision ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    'INSERT INTO catalog_state (id, revision) VALUES (1, 0)',
    // targets, modalities, capabilities and aliases are JSON arrays: they are only ever read and written as a whole. paused_since_ms is NULL where
    // the model is not paused; paused_until_ms is 0 where no end is known.
    `CREATE TABLE model (
      id ${sql.text(128)} NOT NULL PRIMARY KEY,
      display_name ${sql.text(200)} NOT NULL,
      description ${sql.text(2000)} NOT NULL,
      provider ${sql.text(100)} NOT NULL,
      context_limit_tokens ${sql.int64} NOT NULL CHECK (context_limit_tokens > 0),
      output_limit_tokens ${sql.int64} NOT NULL CHECK (output_limit_tokens >= 0),
      input_modalities ${sql.longText} NOT NULL,
      output_modalities ${sql.longText} NOT NULL,
      capabilities ${sql.longText} NOT NULL,
      targets ${sql.longText} NOT NULL,
      aliases ${sql.longText} NOT NULL,
      image_tokens_max ${sql.int64} NOT NULL,
      prefix_affinity ${sql.int32} NOT NULL,
      hedge_after_ms ${sql.int64},
      paused_since_ms ${sql.int64},
      paused_until_ms ${sql.int64},
      pause_reason ${sql.text(200)},
      tokenizer ${sql.int32} NOT NULL,
      state ${sql.int32} NOT NULL,
      origin ${sql.text(20)} NOT NULL,
      created_at_ms ${sql.int64} NOT NULL,
      revision ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    // draft_version makes publishing a draft safe to repeat; it is NULL where the version was not published from a draft. units is JSON
    // (store/rows.ts), and NULL where only tokens have prices.
    `CREATE TABLE price_version (
      id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
      model_id ${sql.text(128)} NOT NULL,
      effective_from_ms ${sql.int64} NOT NULL,
      input_nano_usd_per_mtok ${sql.int64} NOT NULL CHECK (input_nano_usd_per_mtok >= 0),
      cache_read_nano_usd_per_mtok ${sql.int64} NOT NULL CHECK (cache_read_nano_usd_per_mtok >= 0),
      cache_write_5m_nano_usd_per_mtok ${sql.int64} NOT NULL CHECK (cache_write_5m_nano_usd_per_mtok >= 0),
      cache_write_1h_nano_usd_per_mtok ${sql.int64} NOT NULL CHECK (cache_write_1h_nano_usd_per_mtok >= 0),
      output_nano_usd_per_mtok ${sql.int64} NOT NULL CHECK (output_nano_usd_per_mtok >= 0),
      reasoning_nano_usd_per_mtok ${sql.int64} CHECK (reasoning_nano_usd_per_mtok >= 0),
      created_at_ms ${sql.int64} NOT NULL,
      draft_version ${sql.int64},
      units ${sql.longText},
      CONSTRAINT price_version_start UNIQUE (model_id, effective_from_ms)
    ) ${sql.tableOptions}`,
    `CREATE TABLE price_draft (
      model_id ${sql.text(128)} NOT NULL PRIMARY KEY,
      version ${sql.int64} NOT NULL,
      effective_from_ms ${sql.int64} NOT NULL,
      input_nano_usd_per_mtok ${sql.int64} NOT NULL CHECK (input_nano_usd_per_mtok >= 0),
      cache_read_nano_usd_per_mtok ${sql.int64} NOT NULL CHECK (cache_read_nano_usd_per_mtok >= 0),
      cache_write_5m_nano_usd_per_mtok ${sql.int64} NOT NULL CHECK (cache_write_5m_nano_usd_per_mtok >= 0),
      cache_write_1h_nano_usd_per_mtok ${sql.int64} NOT NULL CHECK (cache_write_1h_nano_usd_per_mtok >= 0),
      output_nano_usd_per_mtok ${sql.int64} NOT NULL CHECK (output_nano_usd_per_mtok >= 0),
      reasoning_nano_usd_per_mtok ${sql.int64} CHECK (reasoning_nano_usd_per_mtok >= 0),
      author ${sql.text(200)} NOT NULL,
      updated_at_ms ${sql.int64} NOT NULL,
      units ${sql.longText}
    ) ${sql.tableOptions}`,

    auditOutboxTable(sql, 'catalog'),
  ],
};
