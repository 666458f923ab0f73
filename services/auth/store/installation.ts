// Instants that an installation records about itself, by name.
import type { Knex } from 'knex';
import { migrate } from '#kit/db/migrations/migrate.js';
import type { Database } from '#kit/db/open.js';
import { asNumber } from '#kit/db/values.js';
import { migrations } from '../migrations/index.js';

/** Something that happened at an instant. */
export type InstallationEvent = 'deliveries_paused' | 'backed_up';

/** Returns when it happened last; 0 if never. */
export async function happenedAtMs(knex: Knex, name: InstallationEvent): Promise<number> {
  const row = (await knex('installation').where({ name }).first('at_ms')) as { at_ms: unknown } | undefined;
  return row === undefined ? 0 : asNumber(row.at_ms);
}

/** Notes that it has happened. */
export async function noteHappened(tx: Knex.Transaction, name: InstallationEvent, atMs: number): Promise<void> {
  await tx('installation').insert({ name, at_ms: atMs }).onConflict('name').merge();
}

/** Forgets that it has happened; returns false if it has not. */
export async function forgetHappened(tx: Knex.Transaction, name: InstallationEvent): Promise<boolean> {
  return (await tx('installation').where({ name }).delete()) === 1;
}

/** Keeps an installation that was just restored from sending mails and webhook requests until an operator resumes them. */
export async function pauseDeliveries(db: Database, atMs: number): Promise<void> {
  await migrate(db, migrations);
  await db.transaction((tx) => noteHappened(tx, 'deliveries_paused', atMs));
}
