// A lease that holds across all nodes of a Galera cluster, unlike a named lock: a row that one process keeps renewing.
import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import { AppError } from '#client/errors/app-error.js';
import { newId } from '../../id.js';
import { dialects } from './dialect.js';
import { isDuplicate, isRetryable } from '../errors.js';
import { asText } from '../values.js';

/** Times of a lease. */
export interface LeaseTimes {
  /** A lease that has not been renewed for this long belongs to a process that died. */
  readonly staleMs: number;
  readonly renewMs: number;
  /** How long others wait for it. */
  readonly waitMs: number;
}

const standardTimes: LeaseTimes = { staleMs: 15_000, renewMs: 3000, waitMs: 90_000 };
const pollMs = 200;
const lease = 'migrate';

/** Runs `work` while holding the lease of the whole cluster. Raises service_unavailable when the lease cannot be acquired in time. */
export async function holdingLease<T>(knex: Knex, work: () => Promise<T>, times: LeaseTimes = standardTimes): Promise<T> {
  const dialect = dialects.mysql;
  await knex.raw(
    `CREATE TABLE IF NOT EXISTS schema_lease (name ${dialect.text(20)} NOT NULL PRIMARY KEY, mark ${dialect.text(40)} NOT NULL) ${dialect.tableOptions}`,
  );
  let mark = await take(knex, times);
  // One renewal at a time, so that the mark that is released is the last one written.
  let renewing = Promise.resolve();
  const renew = async (): Promise<void> => {
    const next = newId('l');
    if ((await knex('schema_lease').where({ name: lease, mark }).update({ mark: next })) === 1) mark = next;
  };
  const timer = setInterval(() => {
    // A failed renewal is covered by the next one; the lease outlasts several failures.
    renewing = renewing.then(renew).catch(() => undefined);
  }, times.renewMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await renewing;
    await knex('schema_lease').where({ name: lease, mark }).delete();
  }
}

// No clocks are compared: a waiting process only checks whether the mark changes.
async function take(knex: Knex, { staleMs, waitMs }: LeaseTimes): Promise<string> {
  const own = newId('l');
  const untilMs = performance.now() + waitMs;
  for (let seen = { mark: '', sinceMs: 0 }; ; await delay(pollMs)) {
    const inserted = await knex('schema_lease')
      .insert({ name: lease, mark: own })
      .then(() => true, lostRace);
    if (inserted) return own;
    const row = await knex('schema_lease').where({ name: lease }).first('mark');
    const mark = row === undefined ? '' : asText(row.mark);
    if (mark !== seen.mark) seen = { mark, sinceMs: performance.now() };
    else if (mark !== '' && performance.now() - seen.sinceMs > staleMs) {
      const taken = await knex('schema_lease').where({ name: lease, mark }).update({ mark: own }).catch(lostRace);
      if (taken === 1) return own;
    }
    if (performance.now() > untilMs)
      throw new AppError('service_unavailable', 'Another process has been changing the schema for too long.');
  }
}

// A row that another node wrote at the same time is a duplicate key here, or a conflict.
function lostRace(error: unknown): false {
  if (isDuplicate(error) || isRetryable(error)) return false;
  throw error;
}
