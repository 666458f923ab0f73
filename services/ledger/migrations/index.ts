// The schema's steps in order.
import type { Migration } from '#kit/db/migrate.js';
import { books } from './0001-books.js';
import { refunds } from './0002-refunds.js';
import { archive } from './0003-archive.js';
import { statements } from './0004-statements.js';
import { codes } from './0005-codes.js';
import { alerts } from './0006-alerts.js';

/** All migrations of the ledger. */
export const migrations: readonly Migration[] = [books, refunds, archive, statements, codes, alerts];
