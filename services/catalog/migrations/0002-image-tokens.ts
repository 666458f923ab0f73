// How many tokens a vendor makes of one image at most.
import type { Migration } from '#kit/db/migrate.js';

/** Models of before say nothing, as the 0 says, until the seed file or an operator does. */
export const imageTokens: Migration = {
  name: '0002-image-tokens',
  statements: (sql) => [`ALTER TABLE model ADD COLUMN image_tokens_max ${sql.int64} NOT NULL DEFAULT 0`],
};
