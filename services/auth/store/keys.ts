// The SQL of platform keys.
import assert from 'node:assert/strict';
import type { Knex } from 'knex';
import type { AuditChange } from '#kit/audit/audit-outbox.js';
import { fault } from '#client/errors/fault.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import { type AccountRateLimits, type AccountState, type Key, KeyState, type Project } from '#proto/auth/v1/auth.js';
import { type Budget, BudgetScope } from '#proto/budget/v1/budget.js';
import { budgetsIn } from '../requests/budgets.js';
import { accountRateLimitsIn } from '../requests/rate-limits.js';
import { nextChangeNumber } from './changes.js';
import { createOnce, type RepeatableCall } from './idempotency.js';
import { lockedProject } from './projects.js';
import { changeableKeyColumns, keyColumns, projectColumns, type Row, toKey, toProject } from './rows.js';

/** Holds a key found by its secret. */
export interface FoundKey {
  readonly key: Key;
  readonly secretHash: Buffer;
  readonly accountState: AccountState;
  readonly accountStateReason: string;
  readonly accountRateLimits: AccountRateLimits | undefined;
  readonly project: Project;
  readonly accountBudgets: readonly Budget[];
  readonly accountTimeZone: string;
  readonly neverLogPrompts: boolean;
  /** When a previous secret expires; undefined for the current secret. */
  readonly secretExpiresAtMs: bigint | undefined;
}

/** Holds the result of a rotation. */
export interface Rotation {
  readonly secretHash: Buffer;
  readonly lastFour: string;
  readonly nowMs: bigint;
  /** How long previous secrets remain valid; with 0 they stop working immediately. */
  readonly overlapMs: bigint;
}

const qualifiedKeyColumns = keyColumns.map((column) => `platform_key.${column}`);
const projectPrefix = 'of_project_';
const pathColumns = [
  'account.state as account_state',
  'account.state_reason as account_state_reason',
  'account.rate_limits as account_rate_limits',
  'account.budgets as account_budgets',
  'account.time_zone as account_time_zone',
  'account.never_log_prompts as never_log_prompts',
  ...projectColumns.map((column) => `project.${column} as ${projectPrefix}${column}`),
];

function foundKey(row: Row, secretExpiresAtMs: bigint | undefined): FoundKey {
  const key = toKey(row);
  return {
    key,
    secretHash: asBytes(row['secret_hash']),
    accountState: asNumber(row['account_state']),
    accountStateReason: asText(row['account_state_reason']),
    accountRateLimits: optional(row['account_rate_limits'], (value) => accountRateLimitsIn(asText(value))),
    project: toProject(row, projectPrefix),
    accountBudgets: budgetsIn(asText(row['account_budgets']), BudgetScope.BUDGET_SCOPE_ACCOUNT, key.accountId),
    accountTimeZone: asText(row['account_time_zone']),
    neverLogPrompts: asNumber(row['never_log_prompts']) === 1,
    secretExpiresAtMs,
  };
}

/** Maximum number of keys of an account that are not revoked. */
export const keysMax = 10_000;

/** Stores keys, with only the hashes of their secrets. */
export class KeyStore {
  constructor(private readonly db: Database) {}

  /**
   * Adds a key to a project. Returns false, and adds nothing, when `call` is a repeat. `check` may refuse the project by throwing. `audit`
   * runs in the same transaction. Raises failed_precondition when the account has too many keys.
   */
  add(
    { key, secretHash }: { key: Key; secretHash: Buffer },
    call: RepeatableCall | undefined,
    check: (project: Project | undefined) => void,
    audit: (tx: Knex.Transaction) => Promise<void>,
  ): Promise<boolean> {
    const id = idToBytes('key', key.id);
    const accountId = idToBytes('acct', key.accountId);
    assert(id !== undefined && accountId !== undefined && secretHash.length === 32);
    return createOnce(this.db, call, { id, atMs: key.createdAtMs }, async (tx) => {
      check(await lockedProject(tx, key.projectId));
      // Its lock puts concurrent additions in order.
      const changeNumber = await nextChangeNumber(tx);
      const [row] = (await tx('platform_key')
        .where({ account_id: accountId })
        .whereNot({ state: KeyState.KEY_STATE_REVOKED })
        .count({ keys: '*' })) as Row[];
      if (asNumber(row!['keys']) >= keysMax) throw fault('keys_full', { max: keysMax });
      await tx('platform_key').insert({
        ...changeableKeyColumns(key),
        id,
        account_id: accountId,
        secret_hash: secretHash,
        last_four: key.lastFour,
        created_by: key.createdByUserId === '' ? null : idToBytes('user', key.createdByUserId),
        created_at_ms: key.createdAtMs,
        version: key.version,
        change_number: changeNumber,
      });
      await audit(tx);
    });
  }

  /** Returns the key with this id. */
  async find(id: Buffer): Promise<Key | undefined> {
    const row: Row | undefined = await this.db
      .knex('platform_key')
      .where({ id })
      .first(...keyColumns);
    return row === undefined ? undefined : toKey(row);
  }

  /** Returns the key with this secret hash, current or previous, with its project and its account's state. Reads three unique indexes, or four for a previous secret. */
  async findBySecretHash(secretHash: Buffer): Promise<FoundKey | undefined> {
    const present: Row | undefined = await this.db
      .knex('platform_key')
      .join('account', 'account.id', 'platform_key.account_id')
      .join('project', 'project.id', 'platform_key.project_id')
      .where('platform_key.secret_hash', secretHash)
      .first<Row | undefined>(['platform_key.secret_hash', ...pathColumns, ...qualifiedKeyColumns]);
    if (present !== undefined) return foundKey(present, undefined);
    const former: Row | undefined = await this.db
      .knex('former_secret')
      .join('platform_key', 'platform_key.id', 'former_secret.key_id')
      .join('account', 'account.id', 'platform_key.account_id')
      .join('project', 'project.id', 'platform_key.project_id')
      .where('former_secret.secret_hash', secretHash)
      .first<Row | undefined>([
        'former_secret.secret_hash',
        'former_secret.expires_at_ms as secret_expires_at_ms',
        ...pathColumns,
        ...qualifiedKeyColumns,
      ]);
    return former === undefined ? undefined : foundKey(former, asBigInt(former['secret_expires_at_ms']));
  }

  /**
   * Replaces the current secret, which becomes a previous one. If `check` throws, the key is unchanged. Returns undefined when there is none.
   * The hashes of previous secrets are kept after they expire, so that the error for an expired secret can say so.
   */
  rotate(
    id: Buffer,
    { secretHash, lastFour, nowMs, overlapMs }: Rotation,
    check: (key: Key) => void,
    audit: AuditChange<Key>,
  ): Promise<Key | undefined> {
    return this.db.transaction(async (tx) => {
      const row: Row | undefined = await tx('platform_key')
        .where({ id })
        .forUpdate()
        .first(['secret_hash', ...keyColumns]);
      if (row === undefined) return undefined;
      const before = toKey(row);
      check(before);
      const untilMs = nowMs + overlapMs;
      await tx('former_secret').where({ key_id: id }).where('expires_at_ms', '>', Number(untilMs)).update({ expires_at_ms: untilMs });
      await tx('former_secret').insert({ secret_hash: asBytes(row['secret_hash']), key_id: id, expires_at_ms: untilMs });
      const previousSecretsExpireAtMs = overlapMs === 0n ? undefined : untilMs;
      const [version, secretVersion] = [before.version + 1n, before.secretVersion + 1n];
      const changeNumber = await nextChangeNumber(tx);
      const updated = await tx('platform_key')
        .where({ id, version: before.version })
        .update({
          secret_hash: secretHash,
          last_four: lastFour,
          secret_version: secretVersion,
          previous_secrets_expire_at_ms: previousSecretsExpireAtMs ?? null,
          version,
          change_number: changeNumber,
        });
      assert.equal(updated, 1);
      const after = { ...before, lastFour, version, secretVersion, previousSecretsExpireAtMs };
      await audit(tx, before, after);
      return after;
    });
  }

  /** Returns up to `limit` keys of an account, or of these of its projects, oldest or newest first, beginning after the id `after`. */
  async list(
    accountId: Buffer,
    {
      projectIds,
      after,
      limit,
      isNewestFirst,
    }: { projectIds: readonly Buffer[] | undefined; after: Buffer | undefined; limit: number; isNewestFirst: boolean },
  ): Promise<Key[]> {
    const query = this.db
      .knex('platform_key')
      .where({ account_id: accountId })
      .orderBy('id', isNewestFirst ? 'desc' : 'asc')
      .limit(limit)
      .select(...keyColumns);
    if (projectIds !== undefined) query.whereIn('project_id', projectIds);
    if (after !== undefined) query.where('id', isNewestFirst ? '<' : '>', after);
    const rows: Row[] = await query;
    return rows.map(toKey);
  }

  /** Counts the keys of each account that are not revoked, by account id. Accounts without such a key are left out. */
  countByAccount(accountIds: readonly Buffer[]): Promise<Map<string, number>> {
    return this.countBy('account_id', 'acct', accountIds);
  }

  /** Counts the keys of each project that are not revoked, by project id. Projects without such a key are left out. */
  countByProject(projectIds: readonly Buffer[]): Promise<Map<string, number>> {
    return this.countBy('project_id', 'proj', projectIds);
  }

  private async countBy(column: 'account_id' | 'project_id', prefix: string, ids: readonly Buffer[]): Promise<Map<string, number>> {
    if (ids.length === 0) return new Map();
    const rows: Row[] = await this.db
      .knex('platform_key')
      .whereIn(column, [...ids])
      .whereNot({ state: KeyState.KEY_STATE_REVOKED })
      .groupBy(column)
      .select(column)
      .count({ keys: '*' });
    return new Map(rows.map((row) => [idFromBytes(prefix, asBytes(row[column])), asNumber(row['keys'])]));
  }

  /**
   * Replaces the key with the result of `change`, with the next version. If `change` returns the same object, nothing is written. `change`
   * may run more than once, and if it throws the key is unchanged. If the key moves, `check` may refuse its new project by throwing.
   * Returns undefined when there is no such key. `audit` runs in the same transaction when a change was written.
   */
  change(
    id: Buffer,
    change: (key: Key) => Key,
    audit: AuditChange<Key>,
    check: (project: Project | undefined) => void = () => undefined,
  ): Promise<Key | undefined> {
    return this.db.transaction(async (tx) => {
      const row: Row | undefined = await tx('platform_key')
        .where({ id })
        .forUpdate()
        .first(...keyColumns);
      if (row === undefined) return undefined;
      const before = toKey(row);
      const after = change(before);
      if (after === before) return before;
      if (after.projectId !== before.projectId) check(await lockedProject(tx, after.projectId));
      const version = before.version + 1n;
      const changeNumber = await nextChangeNumber(tx);
      const updated = await tx('platform_key')
        .where({ id, version: before.version })
        .update({ ...changeableKeyColumns(after), version, change_number: changeNumber });
      assert.equal(updated, 1);
      await audit(tx, before, after);
      return { ...after, version };
    });
  }
}
