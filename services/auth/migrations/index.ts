// The schema's migrations, in order.
import type { Migration } from '#kit/db/migrate.js';
import { schema } from './0001-schema.js';

export const migrations: readonly Migration[] = [schema];
