// The SQL of links with which users set a new password.
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import { asBytes } from '#kit/db/values.js';
import type { Row } from '../../store/rows.js';

/** Stores links, with only the hashes of their tokens. */
export class ResetStore {
  constructor(private readonly db: Database) {}

  /** Adds a link. Earlier links remain valid: anyone can request a link, and must not be able to invalidate the one that the user has received. */
  async add(tx: Knex.Transaction, tokenHash: Buffer, userId: Buffer, email: string, expiresAtMs: number): Promise<void> {
    await tx('password_reset').insert({ token_hash: tokenHash, user_id: userId, email, expires_at_ms: expiresAtMs });
  }

  /** Returns the id of the user who can use a link; undefined when it is unknown, used or expired, or the user has changed their address. */
  async find(tokenHash: Buffer, nowMs: number, knex: Knex = this.db.knex): Promise<Buffer | undefined> {
    const row: Row | undefined = await knex('password_reset')
      .join('person', 'person.id', 'password_reset.user_id')
      .where('password_reset.token_hash', tokenHash)
      .where('password_reset.expires_at_ms', '>', nowMs)
      .whereRaw('person.email = password_reset.email')
      .first('password_reset.user_id');
    return row === undefined ? undefined : asBytes(row['user_id']);
  }

  /** Removes all links of a user. */
  async endAll(tx: Knex.Transaction, userId: Buffer): Promise<void> {
    await tx('password_reset').where({ user_id: userId }).delete();
  }

  async sweep(beforeMs: number): Promise<void> {
    await this.db.knex('password_reset').where('expires_at_ms', '<', beforeMs).delete();
  }
}
