// The SQL of links by which people set a new password.
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import { asBytes } from '#kit/db/values.js';
import type { Row } from '../../store/rows.js';

/** Keeps the links, and of their tokens only the hashes. */
export class ResetStore {
  constructor(private readonly db: Database) {}

  /** Those of before stay, since anybody can ask for one and must not end what its owner has in hand. */
  async add(tokenHash: Buffer, userId: Buffer, email: string, expiresAtMs: number): Promise<void> {
    await this.db.knex('password_reset').insert({ token_hash: tokenHash, user_id: userId, email, expires_at_ms: expiresAtMs });
  }

  /** Whose a link is that can be used; undefined when it was used, has ended or never was, or they have another address by now. */
  async find(tokenHash: Buffer, nowMs: number): Promise<Buffer | undefined> {
    const row: Row | undefined = await this.db
      .knex('password_reset')
      .join('person', 'person.id', 'password_reset.user_id')
      .where('password_reset.token_hash', tokenHash)
      .where('password_reset.expires_at_ms', '>', nowMs)
      .whereRaw('person.email = password_reset.email')
      .first('password_reset.user_id');
    return row === undefined ? undefined : asBytes(row['user_id']);
  }

  /** Uses a link up; false when another request was faster. */
  async take(tx: Knex.Transaction, tokenHash: Buffer): Promise<boolean> {
    return (await tx('password_reset').where({ token_hash: tokenHash }).delete()) > 0;
  }

  /** Ends all links of a person. */
  async endAll(tx: Knex.Transaction, userId: Buffer): Promise<void> {
    await tx('password_reset').where({ user_id: userId }).delete();
  }

  async sweep(beforeMs: number): Promise<void> {
    await this.db.knex('password_reset').where('expires_at_ms', '<', beforeMs).delete();
  }
}
