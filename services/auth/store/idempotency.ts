// The SQL of idempotency keys: which object each call created.
import type { Knex } from 'knex';
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import { asBytes } from '#kit/db/values.js';
import type { Row } from './rows.js';

/** The RPCs that may be repeated. */
export type RepeatableMethod = 'create_account' | 'create_project' | 'create_key';

/** Identifies a call that may be repeated. */
export interface RepeatableCall {
  readonly method: RepeatableMethod;
  readonly idempotencyKey: string;
  /** SHA-256 of the call's parameters. */
  readonly fingerprint: Buffer;
}

/** Holds the result of an earlier call with the same idempotency key. */
export interface EarlierCall {
  readonly createdId: Buffer;
  readonly fingerprint: Buffer;
}

/** Finds earlier calls. */
export class IdempotencyStore {
  constructor(private readonly db: Database) {}

  /** Returns the earlier call with this idempotency key. */
  async find(method: RepeatableMethod, idempotencyKey: string): Promise<EarlierCall | undefined> {
    const row: Row | undefined = await this.db
      .knex('idempotency')
      .where({ method, idempotency_key: idempotencyKey })
      .first('created_id', 'fingerprint');
    return row === undefined ? undefined : { createdId: asBytes(row['created_id']), fingerprint: asBytes(row['fingerprint']) };
  }
}

/**
 * Runs `create` in a transaction that also records the call, if there is one. Returns false, and creates nothing, when a concurrent call
 * used the same idempotency key.
 */
export async function createOnce(
  db: Database,
  call: RepeatableCall | undefined,
  created: { id: Buffer; atMs: bigint },
  create: (tx: Knex.Transaction) => Promise<void>,
): Promise<boolean> {
  try {
    await db.transaction(async (tx) => {
      if (call !== undefined) {
        await tx('idempotency').insert({
          method: call.method,
          idempotency_key: call.idempotencyKey,
          created_id: created.id,
          fingerprint: call.fingerprint,
          created_at_ms: created.atMs,
        });
      }
      await create(tx);
    });
    return true;
  } catch (error) {
    // Ids and secrets are random, so only the idempotency key can be a duplicate.
    if (call !== undefined && isDuplicate(error)) return false;
    throw error;
  }
}
