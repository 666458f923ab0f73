// How long ago the installation was backed up.
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { gauge, observe } from '#kit/telemetry/metrics.js';
import type { AccountStore } from './store/accounts.js';
import { happenedAtMs } from './store/installation.js';

const age = gauge(
  {
    name: 'tollgate.backup.age',
    unit: 's',
    description: 'Time since the last backup; without one, since the first account was created.',
    by: 'auth',
  },
  'max',
);

/** Reports the age of the last backup whenever metrics are collected. Returns a function that stops it. */
export function observeBackups({
  db,
  accounts,
  clock,
  log,
}: {
  db: Database;
  accounts: Pick<AccountStore, 'oldestCreatedAtMs'>;
  clock: Clock;
  log: Logger;
}): () => void {
  return observe(async () => {
    const sinceMs = (await happenedAtMs(db.knex, 'backed_up')) || Number(await accounts.oldestCreatedAtMs());
    return sinceMs === 0 ? [] : [age.at(Math.max(0, clock.nowMs() - sinceMs) / 1000)];
  }, log);
}
