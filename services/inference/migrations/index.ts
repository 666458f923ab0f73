// The schema migrations, in order.
import type { Migration } from '#kit/db/migrations/migrate.js';
import { schema } from './0001-schema.js';

export const migrations: readonly Migration[] = [schema];
