// The SQL of callers.
import assert from 'node:assert/strict';
import type { Knex } from 'knex';
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import { asText } from '#kit/db/values.js';
import { AppError } from '#client/errors/app-error.js';
import type { Caller } from '#proto/auth/v1/callers.js';
import { nextChangeNumber } from '../store/changes.js';
import type { Row } from '../store/rows.js';
import { callerColumns, toCaller, toRow } from './caller-rows.js';

/** Maximum number of callers, revoked ones included. */
export const callersMax = 1000;

/** Writes the audit event of a change, in its transaction. */
export type WithChange = (tx: Knex.Transaction, caller: Caller) => Promise<void>;

/** Stores callers. */
export class CallerStore {
  constructor(private readonly db: Database) {}

  /** Returns the caller with this name. */
  async find(name: string): Promise<Caller | undefined> {
    const row: Row | undefined = await this.db
      .knex('caller')
      .where({ name })
      .first(...callerColumns);
    return row === undefined ? undefined : toCaller(row);
  }

  /** Returns all callers by name. */
  async list(): Promise<Caller[]> {
    const rows: Row[] = await this.db
      .knex('caller')
      .orderBy('name')
      .limit(callersMax)
      .select(...callerColumns);
    return rows.map(toCaller);
  }

  /** Adds a caller, replacing a revoked one with its name. Raises already_exists, and failed_precondition when there are too many. */
  async add(caller: Caller, withChange: WithChange): Promise<Caller> {
    try {
      return await this.db.transaction(async (tx) => {
        const row: Row | undefined = await tx('caller')
          .where({ name: caller.name })
          .forUpdate()
          .first(...callerColumns);
        if (row !== undefined && toCaller(row).revokedAtMs === undefined) throw nameInUse(caller.name);
        await tx('caller')
          .whereNotNull('revoked_at_ms')
          .andWhere((same) => same.where({ name: caller.name }).orWhere({ identity: caller.identity }))
          .delete();
        // Its lock puts concurrent additions in order.
        const changeNumber = await nextChangeNumber(tx);
        await makeRoom(tx);
        await tx('caller').insert(toRow(caller, changeNumber));
        const added = { ...caller, version: BigInt(changeNumber) };
        await withChange(tx, added);
        return added;
      });
    } catch (error) {
      if (!isDuplicate(error)) throw error;
      throw new AppError('already_exists', `Another caller has the identity "${caller.identity}"; revoke it first.`);
    }
  }

  /**
   * Replaces the caller with the result of `change`. If `change` returns the same object, nothing is written. `change` may run more than
   * once, and if it throws the caller is unchanged. Returns undefined when there is none.
   */
  change(name: string, change: (caller: Caller) => Caller, withChange: WithChange): Promise<Caller | undefined> {
    return this.db.transaction(async (tx) => {
      const row: Row | undefined = await tx('caller')
        .where({ name })
        .forUpdate()
        .first(...callerColumns);
      if (row === undefined) return undefined;
      const before = toCaller(row);
      const after = change(before);
      if (after === before) return before;
      const changeNumber = await nextChangeNumber(tx);
      const updated = await tx('caller').where({ name }).update(toRow(after, changeNumber));
      assert.equal(updated, 1);
      const changed = { ...after, version: BigInt(changeNumber) };
      await withChange(tx, changed);
      return changed;
    });
  }

  /** Records when callers were last seen, if that is later than the stored time. */
  noteSeen(sightings: readonly { readonly name: string; readonly atMs: bigint }[]): Promise<void> {
    return this.db.transaction(
      async (tx) => {
        for (const { name, atMs } of sightings) {
          await tx('caller')
            .where({ name })
            .andWhere((known) => known.whereNull('last_seen_at_ms').orWhere('last_seen_at_ms', '<', Number(atMs)))
            .update({ last_seen_at_ms: atMs });
        }
      },
      { isRepeatable: true },
    );
  }
}

/** Deletes the caller that was revoked first when the maximum is reached. */
async function makeRoom(tx: Knex.Transaction): Promise<void> {
  const [counted]: Row[] = await tx('caller').count({ callers: '*' });
  if (Number(counted!['callers']) < callersMax) return;
  const oldest: Row | undefined = await tx('caller').whereNotNull('revoked_at_ms').orderBy('revoked_at_ms').orderBy('name').first('name');
  if (oldest === undefined)
    throw new AppError('failed_precondition', `There are ${callersMax} callers, which is the maximum; revoke one first.`);
  await tx('caller')
    .where({ name: asText(oldest['name']) })
    .delete();
}

function nameInUse(name: string): AppError {
  return new AppError(
    'already_exists',
    `There is already a caller "${name}"; use \`caller update\` or \`caller rotate\`, or choose another name.`,
  );
}
