// The schema's migrations, in order.
import type { Migration } from '#kit/db/migrations/migrate.js';
import { schema } from './0001-schema.js';
import { retryKey } from './0002-retry-key.js';
import { quarantined } from './0003-quarantined.js';

export const migrations: readonly Migration[] = [schema, retryKey, quarantined];
