// Prices that are prepared, and which price version came of which draft.
import type { Migration } from '#kit/db/migrate.js';

/** `draft_version` is what makes publishing a draft safe to repeat; it is empty where a version came of no draft. */
export const priceDrafts: Migration = {
  name: '0003-price-drafts',
  statements: (sql) => [
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
      updated_at_ms ${sql.int64} NOT NULL
    ) ${sql.tableOptions}`,
    `ALTER TABLE price_version ADD COLUMN draft_version ${sql.int64}`,
  ],
};
