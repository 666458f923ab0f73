// The SQL of projects.
import assert from 'node:assert/strict';
import type { Knex } from 'knex';
import type { AuditChange } from '#kit/audit/audit-outbox.js';
import type { Database } from '#kit/db/open.js';
import { asBytes, asNumber } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import { type Account, KeyState, type Project } from '#proto/auth/v1/auth.js';
import { defaultProjectId } from '#rules/default-project.js';
import { nextChangeNumber } from './changes.js';
import { createOnce, type RepeatableCall } from './idempotency.js';
import { changeableProjectColumns, projectColumns, type Row, toProject } from './rows.js';

/** Returns the default project of a new account. */
export function defaultProjectOf({ id, createdAtMs }: Account): Project {
  return {
    id: defaultProjectId(id),
    accountId: id,
    name: 'Default',
    models: { allModels: true, modelIds: [] },
    rateLimits: undefined,
    budgets: [],
    budgetFallback: undefined,
    promptLogDays: 0,
    createdAtMs,
    deletedAtMs: undefined,
    version: 1n,
    isDefault: true,
  };
}

/** Inserts a project as the change with this number, in a transaction. */
export async function insertProject(tx: Knex.Transaction, project: Project, changeNumber: number): Promise<void> {
  await tx('project').insert({
    ...changeableProjectColumns(project),
    id: idToBytes('proj', project.id),
    account_id: idToBytes('acct', project.accountId),
    created_at_ms: project.createdAtMs,
    version: project.version,
    change_number: changeNumber,
  });
}

/** Returns a project, locked against its deletion until the transaction ends. */
export async function lockedProject(tx: Knex.Transaction, projectId: string): Promise<Project | undefined> {
  return lockedRow(tx, idToBytes('proj', projectId)!);
}

async function lockedRow(tx: Knex.Transaction, id: Buffer): Promise<Project | undefined> {
  const row: Row | undefined = await tx('project')
    .where({ id })
    .forUpdate()
    .first(...projectColumns);
  return row === undefined ? undefined : toProject(row);
}

/** Stores projects. */
export class ProjectStore {
  constructor(private readonly db: Database) {}

  /**
   * Adds a project. Returns false, and adds nothing, when `call` is a repeat. `check` gets the number of the account's other projects that are
   * not deleted, and may refuse by throwing. `audit` runs in the same transaction.
   */
  add(
    project: Project,
    call: RepeatableCall | undefined,
    check: (others: number) => void,
    audit: (tx: Knex.Transaction) => Promise<void>,
  ): Promise<boolean> {
    const id = idToBytes('proj', project.id);
    assert(id !== undefined);
    return createOnce(this.db, call, { id, atMs: project.createdAtMs }, async (tx) => {
      // One transaction at a time counts the projects of an account.
      await lockedRow(tx, idToBytes('proj', defaultProjectId(project.accountId))!);
      const [row] = (await tx('project')
        .where({ account_id: idToBytes('acct', project.accountId) })
        .whereNull('deleted_at_ms')
        .count({ projects: '*' })) as Row[];
      check(asNumber(row!['projects']));
      await insertProject(tx, project, await nextChangeNumber(tx));
      await audit(tx);
    });
  }

  /** Returns the project with this id. */
  async find(id: Buffer): Promise<Project | undefined> {
    const row: Row | undefined = await this.db
      .knex('project')
      .where({ id })
      .first(...projectColumns);
    return row === undefined ? undefined : toProject(row);
  }

  /** Returns for how many days those of these projects log prompts that do, by their ids. */
  async promptLogDays(ids: readonly Buffer[]): Promise<ReadonlyMap<string, number>> {
    const rows: Row[] = await this.db
      .knex('project')
      .join('account', 'account.id', 'project.account_id')
      .whereIn('project.id', ids)
      .where('project.prompt_log_days', '>', 0)
      .where('account.never_log_prompts', 0)
      .whereNull('project.deleted_at_ms')
      .select('project.id', 'project.prompt_log_days');
    return new Map(rows.map((row) => [idFromBytes('proj', asBytes(row['id'])), asNumber(row['prompt_log_days'])]));
  }

  /** Returns up to `limit` projects of an account, or those with these ids, in order of creation, beginning after the id `after`. */
  async list(
    accountId: Buffer,
    { ids, after, limit }: { ids: readonly Buffer[] | undefined; after: Buffer | undefined; limit: number },
  ): Promise<Project[]> {
    const query = this.db
      .knex('project')
      .where({ account_id: accountId })
      .orderBy('id')
      .limit(limit)
      .select(...projectColumns);
    if (ids !== undefined) query.whereIn('id', ids);
    if (after !== undefined) query.where('id', '>', after);
    const rows: Row[] = await query;
    return rows.map((row) => toProject(row));
  }

  /**
   * Replaces the project with the result of `change`, with the next version. `hasKeys` reports whether it has a key that is not revoked. If
   * `change` returns the same object, nothing is written. `change` may run more than once, and if it throws the project is unchanged.
   * Returns undefined when there is none. `audit` runs in the same transaction when a change was written.
   */
  change(id: Buffer, change: (project: Project, hasKeys: boolean) => Project, audit: AuditChange<Project>): Promise<Project | undefined> {
    return this.db.transaction(async (tx) => {
      const before = await lockedRow(tx, id);
      if (before === undefined) return undefined;
      const key: Row | undefined = await tx('platform_key')
        .where({ project_id: id })
        .whereNot({ state: KeyState.KEY_STATE_REVOKED })
        .forUpdate()
        .first('id');
      const after = change(before, key !== undefined);
      if (after === before) return before;
      const version = before.version + 1n;
      const changeNumber = await nextChangeNumber(tx);
      const updated = await tx('project')
        .where({ id, version: before.version })
        .update({ ...changeableProjectColumns(after), version, change_number: changeNumber });
      assert.equal(updated, 1);
      await audit(tx, before, after);
      return { ...after, version };
    });
  }
}
