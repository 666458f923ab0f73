// The SQL of how many mails were sent within an hour, per scope such as an account or a user.
import type { Knex } from 'knex';
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import { asNumber } from '#kit/db/values.js';
import type { Row } from '../../store/rows.js';
import { scopeHash } from './failures.js';

/** The window in which mails are counted, in milliseconds. */
export const mailWindowMs = 3_600_000;

/** Counts mails in windows of an hour. */
export class MailBudget {
  constructor(private readonly db: Database) {}

  /** Counts one mail in a scope such as "account acct_…", in a transaction or without one; returns false when its window already has `max`. */
  async take(scope: string, max: number, nowMs: number, knex: Knex = this.db.knex): Promise<boolean> {
    const key = { scope_hash: scopeHash(`mail ${scope}`) };
    const windowBegan = nowMs - mailWindowMs;
    for (;;) {
      // Each statement checks and changes the row at once, so that concurrent mails cannot exceed the maximum.
      if ((await knex('mail_count').where(key).where('since_ms', '>', windowBegan).where('mails', '<', max).increment('mails', 1)) > 0)
        return true;
      if ((await knex('mail_count').where(key).where('since_ms', '<=', windowBegan).update({ since_ms: nowMs, mails: 1 })) > 0) return true;
      const window: Row | undefined = await knex('mail_count').where(key).first('since_ms', 'mails');
      if (window !== undefined) {
        if (asNumber(window['since_ms']) > windowBegan && asNumber(window['mails']) >= max) return false;
        // The window was begun or restarted after the statements above.
        continue;
      }
      try {
        await knex('mail_count').insert({ ...key, since_ms: nowMs, mails: 1 });
        return true;
      } catch (error) {
        // A concurrent mail began the window first.
        if (!isDuplicate(error)) throw error;
      }
    }
  }

  /** Frees one counted mail. */
  async giveBack(tx: Knex.Transaction, scope: string): Promise<void> {
    await tx('mail_count')
      .where({ scope_hash: scopeHash(`mail ${scope}`) })
      .where('mails', '>', 0)
      .decrement('mails', 1);
  }

  /** Removes windows that have ended. */
  async sweep(nowMs: number): Promise<void> {
    await this.db
      .knex('mail_count')
      .where('since_ms', '<=', nowMs - mailWindowMs)
      .delete();
  }
}
