// What a hold has to say for refunds: how much of it was given back, and which entry charged it. Code that does not know these
// columns goes on as before: it writes holds that were never refunded. Without a CHECK MySQL adds a column at once, and need not copy the table.
import type { Migration } from '#kit/db/migrate.js';

export const refunds: Migration = {
  name: '0002-refunds',
  statements(sql) {
    return [
      `ALTER TABLE hold ADD COLUMN refunded_nano_usd ${sql.int64} NOT NULL DEFAULT 0`,
      `ALTER TABLE hold ADD COLUMN charge_seq ${sql.int64} NOT NULL DEFAULT 0`,
    ];
  },
};
