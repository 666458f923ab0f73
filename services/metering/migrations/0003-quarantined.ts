// The index with which implausible records are counted. MySQL has no partial indexes, and there the count does not occupy a process of ours.
import type { Migration } from '#kit/db/migrations/migrate.js';
import { isQuarantined } from '../store/records/records.js';

export const quarantined: Migration = {
  name: '0003-quarantined',
  statements: ({ engine }) =>
    engine === 'sqlite' ? [`CREATE INDEX usage_record_quarantined ON usage_record (started_at_ms) WHERE ${isQuarantined}`] : [],
};
