// What was found when operators last tested an upstream.
import type { Migration } from '#kit/db/migrate.js';

/** Creates the table `upstream_test`: one row an upstream, managed ones included. */
export const upstreamTests: Migration = {
  name: '0002-upstream-tests',
  statements: (sql) => [
    `CREATE TABLE upstream_test (
      upstream_id ${sql.text(64)} NOT NULL PRIMARY KEY,
      at_ms ${sql.int64} NOT NULL,
      result ${sql.longBytes} NOT NULL
    ) ${sql.tableOptions}`,
  ],
};
