// The hash with which a retry finds a call in flight.
import type { Migration } from '#kit/db/migrations/migrate.js';

export const retryKey: Migration = {
  name: '0002-retry-key',
  statements: (sql) => [
    `ALTER TABLE open_call ADD COLUMN retry_key_hash ${sql.bytes(32)} NULL`,
    'CREATE INDEX open_call_by_retry_key ON open_call (retry_key_hash)',
  ],
};
