// The SQL of sessions and of sign-in links.
import assert from 'node:assert/strict';
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import type { Session } from '#proto/auth/v1/users.js';
import type { Row } from '../../store/rows.js';

const columns = [
  'id',
  'user_id',
  'created_at_ms',
  'last_used_at_ms',
  'expires_at_ms',
  'address',
  'user_agent',
  'method',
  'authenticated_at_ms',
] as const;

/** Maximum number of sessions of a user that are listed; older ones remain valid but are not listed. */
const sessionsListedMax = 200;

/** Stores sessions and links, with only the hashes of their tokens. */
export class SessionStore {
  constructor(private readonly db: Database) {}

  async add(tx: Knex.Transaction, session: Session, tokenHash: Buffer): Promise<void> {
    await tx('session').insert({
      id: idToBytes('sess', session.id),
      token_hash: tokenHash,
      user_id: idToBytes('user', session.userId),
      created_at_ms: session.createdAtMs,
      last_used_at_ms: session.lastUsedAtMs,
      expires_at_ms: session.expiresAtMs,
      address: session.client!.address,
      user_agent: session.client!.userAgent,
      method: session.method,
      authenticated_at_ms: session.authenticatedAtMs,
    });
  }

  /** Returns the session with this token, unless it has ended. */
  async findByToken(tokenHash: Buffer, nowMs: number): Promise<Session | undefined> {
    return toSessionIf(
      await this.db
        .knex('session')
        .where({ token_hash: tokenHash })
        .where('expires_at_ms', '>', nowMs)
        .first(...columns),
    );
  }

  async find(id: Buffer, nowMs: number, knex: Knex = this.db.knex): Promise<Session | undefined> {
    return toSessionIf(
      await knex('session')
        .where({ id })
        .where('expires_at_ms', '>', nowMs)
        .first(...columns),
    );
  }

  async noteUse(id: Buffer, lastUsedAtMs: number, expiresAtMs: number): Promise<void> {
    await this.db.knex('session').where({ id }).update({ last_used_at_ms: lastUsedAtMs, expires_at_ms: expiresAtMs });
  }

  /** Notes that the user of a session has authenticated again. */
  async noteAuthentication(id: Buffer, atMs: number): Promise<void> {
    await this.db.knex('session').where({ id }).update({ authenticated_at_ms: atMs });
  }

  /** Returns the sessions of a user that have not ended, newest first. */
  async list(userId: Buffer, nowMs: number): Promise<Session[]> {
    const query = this.db.knex('session').where({ user_id: userId }).where('expires_at_ms', '>', nowMs);
    const rows: Row[] = await query
      .orderBy('id', 'desc')
      .limit(sessionsListedMax)
      .select(...columns);
    return rows.map(toSession);
  }

  /** Ends one session of a user, or all but one; returns how many were ended. */
  async end(tx: Knex.Transaction, userId: Buffer, which: { id: Buffer } | { butId: Buffer | undefined }): Promise<number> {
    const query = tx('session').where({ user_id: userId });
    if ('id' in which) query.where({ id: which.id });
    else if (which.butId !== undefined) query.whereNot({ id: which.butId });
    return query.delete();
  }

  /** Removes sessions and links that ended before this time. */
  async sweep(beforeMs: number): Promise<void> {
    await this.db.knex('session').where('expires_at_ms', '<', beforeMs).delete();
    await this.db.knex('sign_in_link').where('expires_at_ms', '<', beforeMs).delete();
  }

  /** Adds a link, replacing all earlier ones of the user. */
  async addLink(tx: Knex.Transaction, userId: Buffer, tokenHash: Buffer, expiresAtMs: number): Promise<void> {
    await tx('sign_in_link').where({ user_id: userId }).delete();
    await tx('sign_in_link').insert({ token_hash: tokenHash, user_id: userId, expires_at_ms: expiresAtMs });
  }

  /** Reports whether a link can still be used. */
  async hasLink(tokenHash: Buffer, nowMs: number): Promise<boolean> {
    return (
      (await this.db.knex('sign_in_link').where({ token_hash: tokenHash }).where('expires_at_ms', '>', nowMs).first('user_id')) !==
      undefined
    );
  }

  /** Removes the link of a user. */
  async endLink(tx: Knex.Transaction, userId: Buffer): Promise<void> {
    await tx('sign_in_link').where({ user_id: userId }).delete();
  }

  /** Uses up a link and returns the id of its user; undefined when it is unknown, used or expired. */
  async takeLink(tx: Knex.Transaction, tokenHash: Buffer, nowMs: number): Promise<Buffer | undefined> {
    const row: Row | undefined = await tx('sign_in_link')
      .where({ token_hash: tokenHash })
      .where('expires_at_ms', '>', nowMs)
      .forUpdate()
      .first('user_id');
    if (row === undefined) return undefined;
    assert.equal(await tx('sign_in_link').where({ token_hash: tokenHash }).delete(), 1);
    return asBytes(row['user_id']);
  }
}

function toSessionIf(row: Row | undefined): Session | undefined {
  return row === undefined ? undefined : toSession(row);
}

function toSession(row: Row): Session {
  return {
    id: idFromBytes('sess', asBytes(row['id'])),
    userId: idFromBytes('user', asBytes(row['user_id'])),
    createdAtMs: asBigInt(row['created_at_ms']),
    lastUsedAtMs: asBigInt(row['last_used_at_ms']),
    expiresAtMs: asBigInt(row['expires_at_ms']),
    client: { address: asText(row['address']), userAgent: asText(row['user_agent']) },
    method: asNumber(row['method']),
    authenticatedAtMs: asBigInt(row['authenticated_at_ms']),
  };
}
