// The SQL of management keys.
import assert from 'node:assert/strict';
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { fault } from '#client/errors/fault.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import { type ManagementKey, User } from '#proto/auth/v1/users.js';
import type { Row } from '../../store/rows.js';
import { userColumns, userOfJoin } from './users.js';

/** Maximum number of keys of an account that are not revoked. */
const keysMax = 100;

/** A key with its user. */
export interface StoredManagementKey {
  readonly key: ManagementKey;
  readonly user: User;
  readonly secretHash: Buffer;
}

/** Stores management keys, with only the hashes of their secrets. */
export class ManagementKeyStore {
  constructor(private readonly db: Database) {}

  /** Adds a key. Raises failed_precondition when the account has too many. */
  async add(tx: Knex.Transaction, key: ManagementKey, secretHash: Buffer): Promise<void> {
    const accountId = idToBytes('acct', key.accountId);
    // Locking the account puts concurrent additions in order.
    await tx('account').where({ id: accountId }).forUpdate().first('id');
    const [row] = (await tx('management_key').where({ account_id: accountId, revoked_at_ms: null }).count({ keys: '*' })) as Row[];
    if (asNumber(row!['keys']) >= keysMax) throw fault('management_keys_full', { max: keysMax });
    await tx('management_key').insert({
      id: idToBytes('mkey', key.id),
      account_id: accountId,
      user_id: idToBytes('user', key.user!.id),
      project_id: key.projectId === '' ? null : idToBytes('proj', key.projectId),
      secret_hash: secretHash,
      last_four: key.lastFour,
      name: key.name,
      scopes: JSON.stringify(key.scopes),
      allowed_addresses: JSON.stringify(key.allowedAddresses),
      expires_at_ms: key.expiresAtMs ?? null,
      created_at_ms: key.createdAtMs,
    });
  }

  async findBySecretHash(secretHash: Buffer): Promise<StoredManagementKey | undefined> {
    const row: Row | undefined = await this.joined().where('management_key.secret_hash', secretHash).first<Row | undefined>();
    return row === undefined ? undefined : toStored(row);
  }

  /** Returns the keys of an account, newest first. */
  async list(accountId: Buffer): Promise<StoredManagementKey[]> {
    const rows: Row[] = await this.joined().where('management_key.account_id', accountId).orderBy('management_key.id', 'desc');
    return rows.map(toStored);
  }

  /** Returns the key of an account, locked until the transaction ends. */
  async findOwn(tx: Knex.Transaction, accountId: Buffer, id: Buffer): Promise<ManagementKey | undefined> {
    const row: Row | undefined = await this.joined(tx)
      .where({ 'management_key.id': id, 'management_key.account_id': accountId })
      .forUpdate()
      .first<Row | undefined>();
    return row === undefined ? undefined : toKey(row);
  }

  /** Revokes a key; returns false when it was revoked before. */
  async revoke(tx: Knex.Transaction, id: Buffer, nowMs: bigint): Promise<boolean> {
    return (await tx('management_key').where({ id, revoked_at_ms: null }).update({ revoked_at_ms: nowMs })) === 1;
  }

  async noteUse(id: string, nowMs: bigint): Promise<void> {
    const key = idToBytes('mkey', id);
    assert(key !== undefined);
    await this.db.knex('management_key').where({ id: key }).update({ last_used_at_ms: nowMs });
  }

  private joined(knex: Knex = this.db.knex): Knex.QueryBuilder {
    return knex('management_key')
      .join('person', 'person.id', 'management_key.user_id')
      .select('management_key.*', ...userColumns);
  }
}

function toStored(row: Row): StoredManagementKey {
  return { key: toKey(row), user: userOfJoin(row).user, secretHash: asBytes(row['secret_hash']) };
}

function toKey(row: Row): ManagementKey {
  const { id, email, name } = userOfJoin(row).user;
  return {
    id: idFromBytes('mkey', asBytes(row['id'])),
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    name: asText(row['name']),
    lastFour: asText(row['last_four']),
    scopes: JSON.parse(asText(row['scopes'])) as string[],
    projectId: optional(row['project_id'], (value) => idFromBytes('proj', asBytes(value))) ?? '',
    user: User.fromPartial({ id, email, name }),
    allowedAddresses: JSON.parse(asText(row['allowed_addresses'])) as string[],
    expiresAtMs: optional(row['expires_at_ms'], asBigInt),
    createdAtMs: asBigInt(row['created_at_ms']),
    revokedAtMs: optional(row['revoked_at_ms'], asBigInt),
    lastUsedAtMs: optional(row['last_used_at_ms'], asBigInt),
    userLostAccess: false,
  };
}
