// The attempts of a call at upstreams, with its record.
import type { Migration } from '#kit/db/migrate.js';

/**
 * A column beside the record and no table: nearly every call has one attempt, which is then five bytes (`store/attempt-text.ts`). Records of the version
 * before, which does not know it, have none.
 */
export const attempts: Migration = {
  name: '0005-attempts',
  statements: (sql) => [`ALTER TABLE usage_record ADD COLUMN attempts ${sql.longText} NULL`],
};
