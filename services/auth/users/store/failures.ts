// The SQL of failed sign-ins: how many there were in a scope, such as a network, since the window began.
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

  /**
   * Counts a failure unless the window has `max` already; then returns when the window ends. One statement decides, so that of parallel attempts at
   * most `max` are counted.
   */
  async take(scope: Buffer, max: number, nowMs: number): Promise<number | undefined> {
    const windowBegan = nowMs - this.windowMs;
    const row = () => this.db.knex('sign_in_failure').where({ scope_hash: scope });
    for (;;) {
      if ((await row().where('since_ms', '>', windowBegan).where('failures', '<', max).increment('failures', 1)) > 0) return undefined;
      const present: Row | undefined = await row().first('since_ms', 'failures');
      if (present !== undefined) {
        const sinceMs = asNumber(present['since_ms']);
        if (sinceMs > windowBegan && asNumber(present['failures']) >= max) return sinceMs + this.windowMs;
        if ((await row().where('since_ms', '<=', windowBegan).update({ since_ms: nowMs, failures: 1 })) > 0) return undefined;
        // A concurrent attempt began a window since.
        continue;
      }
      try {
        await this.db.knex('sign_in_failure').insert({ scope_hash: scope, since_ms: nowMs, failures: 1 });
        return undefined;
      } catch (error) {
        // A concurrent attempt of the same scope began the window first.
        if (!isDuplicate(error)) throw error;
      }
    }
  }

  /** Frees one counted failure. */
  async giveBack(scope: Buffer): Promise<void> {
    await this.db.knex('sign_in_failure').where({ scope_hash: scope }).where('failures', '>', 0).decrement('failures', 1);
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
