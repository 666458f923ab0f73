// Alerts of accounts, and what was sent for them. Every primary key begins with the slot and holds the account, as those of the books.
import type { Migration } from '#kit/db/migrate.js';

export const alerts: Migration = {
  name: '0006-alerts',
  statements(sql) {
    const slot = sql.engine === 'sqlite' ? 'INTEGER' : 'SMALLINT';
    const id = sql.bytes(16);
    return [
      // The version moves on with every change, so that a decision counts only for what it was made about.
      `CREATE TABLE alert (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        enabled ${sql.int32} NOT NULL CHECK (enabled IN (0, 1)),
        threshold_nano_usd ${sql.int64} NOT NULL CHECK (threshold_nano_usd > 0),
        emails ${sql.longText} NOT NULL,
        webhook_url ${sql.text(2048)} NOT NULL,
        sealed_secret ${sql.text(400)},
        fired ${sql.int32} NOT NULL CHECK (fired IN (0, 1)),
        fired_at_ms ${sql.int64} NOT NULL,
        version ${sql.int64} NOT NULL,
        updated_at_ms ${sql.int64} NOT NULL,
        PRIMARY KEY (slot, account_id)
      ) ${sql.tableOptions}`,
      // due_at_ms is when a message that waits is tried next, which a try under way puts ahead; of one that has ended, its end.
      `CREATE TABLE alert_delivery (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        id ${id} NOT NULL,
        event_id ${id} NOT NULL,
        is_test ${sql.int32} NOT NULL CHECK (is_test IN (0, 1)),
        channel ${sql.int32} NOT NULL,
        destination ${sql.text(2048)} NOT NULL,
        state ${sql.int32} NOT NULL,
        attempts ${sql.int32} NOT NULL,
        outcome ${sql.text(500)} NOT NULL,
        threshold_nano_usd ${sql.int64} NOT NULL,
        settled_nano_usd ${sql.int64} NOT NULL,
        available_nano_usd ${sql.int64} NOT NULL,
        created_at_ms ${sql.int64} NOT NULL,
        due_at_ms ${sql.int64} NOT NULL,
        PRIMARY KEY (slot, account_id, id)
      ) ${sql.tableOptions}`,
      'CREATE INDEX alert_delivery_by_due ON alert_delivery (state, due_at_ms)',
    ];
  },
};
