// The only SQL of the inference service.
import type { Knex } from 'knex';
import type { AuditChange } from '#kit/audit/audit-outbox.js';
import { isDuplicate } from '#kit/db/errors.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { limitFields, limitsOfFields, upstreamLimits } from '#rules/upstreams/upstream-limits.js';
import { type UpstreamLimits, UpstreamTest, type ApiFormat } from '#proto/inference/v1/inference.js';
import { migrations } from './migrations/index.js';

/** Maximum number of stored upstreams. */
export const storedUpstreamsMax = 500;

// Built-in and configured upstreams have tests too.
const managedTestsMax = 100;

/** One credential of a stored upstream. */
export interface StoredCredential {
  readonly id: string;
  /** Sealed by SecretBox. */
  readonly sealed: string;
  readonly lastFour: string;
  readonly setAtMs: number;
}

/** A stored upstream. */
export interface UpstreamRow {
  readonly id: string;
  readonly apiFormat: ApiFormat;
  readonly baseUrl: string;
  /** Empty when the upstream needs no secret. */
  readonly credentials: readonly StoredCredential[];
  readonly allowPrivateNetwork: boolean;
  readonly enabled: boolean;
  readonly wholeAnswers: boolean;
  readonly limits: UpstreamLimits;
  readonly allowedFields: readonly string[];
  readonly createdAtMs: bigint;
}

const columns = [
  'id',
  'api_format',
  'base_url',
  'credentials',
  'allow_private_network',
  'enabled',
  'whole_answers',
  ...upstreamLimits.map(({ field }) => field),
  'allowed_fields',
  'created_at_ms',
];

/** Stores upstreams in a database. */
export class UpstreamStore {
  constructor(private readonly db: Database) {}

  /** Brings the schema up to date. */
  async migrate(log: Pick<Logger, 'warn'>): Promise<void> {
    await migrate(this.db, migrations, log);
  }

  /** Returns all upstreams, ordered by id. */
  async list(): Promise<UpstreamRow[]> {
    const rows = await this.db.query(`SELECT ${columns.join(', ')} FROM upstream ORDER BY id LIMIT ${storedUpstreamsMax}`, []);
    return rows.map(fromRow);
  }

  /** Returns a stored upstream that no other transaction can change or remove until this one ends. */
  async lock(tx: Knex.Transaction, id: string): Promise<UpstreamRow | undefined> {
    const [row] = await tx('upstream').select(columns).where({ id }).forUpdate();
    return row === undefined ? undefined : fromRow(row);
  }

  /**
   * Creates or replaces the upstream `id` with the result of `change` on the current row, in one transaction. The creation time of an
   * existing row is kept. Overrides of removed credentials are removed. `change` also receives the number of stored upstreams, and may throw.
   */
  async put(
    id: string,
    change: (present: UpstreamRow | undefined, stored: number) => UpstreamRow,
    audit: AuditChange<UpstreamRow | undefined>,
  ): Promise<UpstreamRow> {
    try {
      return await this.#putOnce(id, change, audit);
    } catch (error) {
      // Two replicas created it at the same moment: the second now replaces the row of the first.
      if (!isDuplicate(error)) throw error;
      return this.#putOnce(id, change, audit);
    }
  }

  /**
   * Replaces the sealed form of a credential's secret with `by`, or removes the credential if `by` is undefined. Does nothing if the credential
   * was changed meanwhile. The overrides of a removed credential and the test of its upstream are removed. An upstream that loses its last credential
   * is disabled: without a secret the vendor would refuse every call.
   */
  async replaceSealed(id: string, sealed: string, by: string | undefined): Promise<void> {
    await this.db.transaction(async (tx) => {
      const present = await this.lock(tx, id);
      if (present === undefined) return;
      const credentials = present.credentials.flatMap((each) =>
        each.sealed !== sealed ? [each] : by === undefined ? [] : [{ ...each, sealed: by }],
      );
      const isDisabled = !present.enabled || (credentials.length === 0 && present.credentials.length > 0);
      await tx('upstream')
        .where({ id })
        .update({ credentials: Buffer.from(JSON.stringify(credentials)), enabled: isDisabled ? 0 : 1 });
      if (credentials.length < present.credentials.length) await tx('upstream_test').where({ upstream_id: id }).delete();
      await deleteOtherOverrides(tx, id, credentials);
    });
  }

  /** Removes an upstream, its test and the overrides of its targets; false when there was none. `audit` runs in the same transaction. */
  async delete(id: string, audit: (tx: Knex.Transaction) => Promise<void>): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      const deleted = await tx('upstream').where({ id }).delete();
      await tx('upstream_test').where({ upstream_id: id }).delete();
      await tx('target_override').where({ upstream_id: id }).delete();
      if (deleted === 1) await audit(tx);
      return deleted === 1;
    });
  }

  /** Returns the last test of each upstream that has one, by the upstream's id. */
  async tests(): Promise<Map<string, UpstreamTest>> {
    const rows = await this.db
      .knex('upstream_test')
      .select(['upstream_id', 'result'])
      .limit(storedUpstreamsMax + managedTestsMax);
    return new Map(rows.map((row: Record<string, unknown>) => [asText(row['upstream_id']), UpstreamTest.decode(asBytes(row['result']))]));
  }

  /**
   * Stores a test in place of the previous one. `tested` is the stored upstream as it was tested; if it has been changed or removed
   * since, nothing is stored. It is absent for upstreams that are not stored. `audit` runs in the same transaction.
   */
  async keepTest(
    upstreamId: string,
    tested: UpstreamRow | undefined,
    test: UpstreamTest,
    audit: (tx: Knex.Transaction) => Promise<void>,
  ): Promise<void> {
    const row = { at_ms: test.startedAtMs, result: Buffer.from(UpstreamTest.encode(test).finish()) };
    await this.db.transaction(async (tx) => {
      await audit(tx);
      if (tested !== undefined) {
        const present = await this.lock(tx, upstreamId);
        if (present === undefined || !isSameToTest(present, tested)) return;
      }
      await tx('upstream_test')
        .insert({ upstream_id: upstreamId, ...row })
        .onConflict('upstream_id')
        .merge(row);
    });
  }

  /** Raises what the database raises if it cannot be read. */
  async ping(): Promise<void> {
    await this.db.query('SELECT id FROM upstream LIMIT 1', []);
  }

  async #putOnce(
    id: string,
    change: (present: UpstreamRow | undefined, stored: number) => UpstreamRow,
    audit: AuditChange<UpstreamRow | undefined>,
  ): Promise<UpstreamRow> {
    return this.db.transaction(async (tx) => {
      const present = await this.lock(tx, id);
      // Two that are added at once are counted one after the other.
      if (present === undefined) await tx('upstream').orderBy('id').forUpdate().select('id');
      const [counted] = await tx('upstream').count({ stored: '*' });
      const row = {
        ...change(present, asNumber(counted?.['stored'])),
        id,
        ...(present === undefined ? {} : { createdAtMs: present.createdAtMs }),
      };
      if (present === undefined) await tx('upstream').insert(toRow(row));
      else await tx('upstream').where({ id }).update(toRow(row));
      // A result for another address or secret would mislead.
      if (present !== undefined && !isSameToTest(present, row)) await tx('upstream_test').where({ upstream_id: id }).delete();
      await deleteOtherOverrides(tx, id, row.credentials);
      await audit(tx, present, row);
      return row;
    });
  }
}

/** Deletes the overrides of credentials that an upstream no longer has: they must not apply to new ones with the same ids. */
async function deleteOtherOverrides(tx: Knex.Transaction, upstreamId: string, credentials: readonly StoredCredential[]): Promise<void> {
  await tx('target_override')
    .where({ upstream_id: upstreamId })
    .whereNotIn('credential_id', ['', ...credentials.map(({ id }) => id)])
    .delete();
}

/** Reports whether a test of one row is also valid for the other. */
function isSameToTest(one: UpstreamRow, other: UpstreamRow): boolean {
  const facts = ({ apiFormat, baseUrl, allowPrivateNetwork, credentials, wholeAnswers }: UpstreamRow): string =>
    JSON.stringify([apiFormat, baseUrl, allowPrivateNetwork, credentials, wholeAnswers]);
  return facts(one) === facts(other);
}

function fromRow(row: Record<string, unknown>): UpstreamRow {
  return {
    id: asText(row['id']),
    apiFormat: asNumber(row['api_format']),
    baseUrl: asText(row['base_url']),
    credentials: JSON.parse(Buffer.from(asBytes(row['credentials'])).toString()) as StoredCredential[],
    allowPrivateNetwork: asNumber(row['allow_private_network']) === 1,
    enabled: asNumber(row['enabled']) === 1,
    wholeAnswers: asNumber(row['whole_answers']) === 1,
    limits: limitsOfFields(Object.fromEntries(upstreamLimits.map(({ field }) => [field, optional(row[field], asNumber)]))),
    allowedFields: JSON.parse(asText(row['allowed_fields'])) as string[],
    createdAtMs: asBigInt(row['created_at_ms']),
  };
}

function toRow(row: UpstreamRow): Record<string, unknown> {
  return {
    id: row.id,
    api_format: row.apiFormat,
    base_url: row.baseUrl,
    credentials: Buffer.from(JSON.stringify(row.credentials)),
    allow_private_network: row.allowPrivateNetwork ? 1 : 0,
    enabled: row.enabled ? 1 : 0,
    whole_answers: row.wholeAnswers ? 1 : 0,
    ...limitFields(row.limits, null),
    allowed_fields: JSON.stringify(row.allowedFields),
    created_at_ms: row.createdAtMs,
  };
}
