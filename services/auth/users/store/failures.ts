// The SQL of failed sign-ins: how many there were for an email address or from a network address since the window began.
import { createHash } from 'node:crypto';
import type { Database } from '#kit/db/open.js';
import { isDuplicate } from '#kit/db/errors.js';
import { asNumber } from '#kit/db/values.js';
import type { Row } from '../../store/rows.js';

/** Returns the key under which a scope such as "email ada@example.com" is stored; the address itself is not. */
export function scopeHash(scope: string): Buffer {
  return createHash('sha256').update(scope).digest();
}

/** Counts failures in windows of fixed length. */
export class FailureStore {
  constructor(
    private readonly db: Database,
    private readonly windowMs: number,
  ) {}

  /** Returns the number of failures in the window, and when it ends. */
  async count(scope: Buffer, nowMs: number): Promise<{ failures: number; endsAtMs: number }> {
    const row: Row | undefined = await this.db
      .knex('sign_in_failure')
      .where({ scope_hash: scope })
      .where('since_ms', '>', nowMs - this.windowMs)
      .first('since_ms', 'failures');
    return row === undefined
      ? { failures: 0, endsAtMs: nowMs }
      : { failures: asNumber(row['failures']), endsAtMs: asNumber(row['since_ms']) + this.windowMs };
  }

  /** Adds a failure. */
  async add(scope: Buffer, nowMs: number): Promise<void> {
    const windowBegan = nowMs - this.windowMs;
    const counted = await this.db
      .knex('sign_in_failure')
      .where({ scope_hash: scope })
      .where('since_ms', '>', windowBegan)
      .increment('failures', 1);
    if (counted > 0) return;
    const renewed = await this.db
      .knex('sign_in_failure')
      .where({ scope_hash: scope })
      .where('since_ms', '<=', windowBegan)
      .update({ since_ms: nowMs, failures: 1 });
    if (renewed > 0) return;
    try {
      await this.db.knex('sign_in_failure').insert({ scope_hash: scope, since_ms: nowMs, failures: 1 });
    } catch (error) {
      // A concurrent failure of the same scope began the window first; this one may go uncounted.
      if (!isDuplicate(error)) throw error;
    }
  }

  /** Clears the failures after a success. */
  async clear(scope: Buffer): Promise<void> {
    await this.db.knex('sign_in_failure').where({ scope_hash: scope }).delete();
  }

  /** Removes windows that have ended. */
  async sweep(nowMs: number): Promise<void> {
    await this.db
      .knex('sign_in_failure')
      .where('since_ms', '<=', nowMs - this.windowMs)
      .delete();
  }
}
