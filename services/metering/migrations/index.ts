// The schema's steps, in order.
import type { Migration } from '#kit/db/migrate.js';
import { usage } from './0001-usage.js';
import { reconcile } from './0002-reconcile.js';
import { keyedCalls } from './0003-keyed-calls.js';
import { rollups } from './0004-rollups.js';
import { attempts } from './0005-attempts.js';
import { sums } from './0006-sums.js';

/** All migrations of metering. */
export const migrations: readonly Migration[] = [usage, reconcile, keyedCalls, rollups, attempts, sums];
