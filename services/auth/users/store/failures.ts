// The SQL of failed sign-ins: how many there were for an e-mail address or from a network address since the window began.
import { createHash } from 'node:crypto';
import type { Database } from '#kit/db/open.js';
import { isDuplicate } from '#kit/db/errors.js';
import { asNumber } from '#kit/db/values.js';
import type { Row } from '../../store/rows.js';

/** The key of a scope such as "email ada@example.com"; what it names is not kept. */
export function scopeHash(scope: string): Buffer {
  return createHash('sha256').update(scope).digest();
}

/** Counts failures in windows of fixed length. */
export class FailureStore {
  constructor(
    private readonly db: Database,
    private readonly windowMs: number,
  ) {}

  /** How many failures the window has, and when it ends. */
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

  /** Notes a failure. */
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
      // Another failure of the same scope was faster, and one more or less does not matter.
      if (!isDuplicate(error)) throw error;
    }
  }

  /** A success forgives the failures before it. */
  async clear(scope: Buffer): Promise<void> {
    await this.db.knex('sign_in_failure').where({ scope_hash: scope }).delete();
  }

  /** Removes windows that are over. */
  async sweep(nowMs: number): Promise<void> {
    await this.db
      .knex('sign_in_failure')
      .where('since_ms', '<=', nowMs - this.windowMs)
      .delete();
  }
}
