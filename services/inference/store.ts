// The only SQL of the inference service.
import { isDuplicate } from '#kit/db/errors.js';
import { migrate } from '#kit/db/migrate.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asNumber, asText, optional } from '#kit/db/values.js';
import type { WireFormat } from '#proto/inference/v1/inference.js';
import { upstreams } from './migrations/0001-upstreams.js';

/** Most upstreams that may be stored. */
export const storedUpstreamsMax = 500;

/** A stored upstream. */
export interface UpstreamRow {
  readonly id: string;
  readonly wireFormat: WireFormat;
  readonly baseUrl: string;
  /** As SecretBox made it; absent when the upstream needs no secret. */
  readonly sealedSecret: string | undefined;
  readonly secretLastFour: string;
  readonly allowPrivateNetwork: boolean;
  readonly enabled: boolean;
  readonly createdAtMs: bigint;
}

const columns = ['id', 'wire_format', 'base_url', 'sealed_secret', 'secret_last_four', 'allow_private_network', 'enabled', 'created_at_ms'];

/** Upstreams in a database. */
export class UpstreamStore {
  constructor(private readonly db: Database) {}

  /** Brings the schema up to date. */
  async migrate(): Promise<void> {
    await migrate(this.db, [upstreams]);
  }

  /** All upstreams, ordered by id. */
  async list(): Promise<UpstreamRow[]> {
    const rows = await this.db.knex('upstream').select(columns).orderBy('id').limit(storedUpstreamsMax);
    return rows.map(fromRow);
  }

  /**
   * Creates or replaces the upstream `id` with what `change` makes of the present row, in one transaction. The creation time of an
   * existing row stays. `change` also learns how many upstreams are stored, and may throw.
   */
  async put(id: string, change: (present: UpstreamRow | undefined, stored: number) => UpstreamRow): Promise<UpstreamRow> {
    try {
      return await this.#putOnce(id, change);
    } catch (error) {
      // Two replicas created it at the same moment: the second now replaces what the first made.
      if (!isDuplicate(error)) throw error;
      return this.#putOnce(id, change);
    }
  }

  /** Removes an upstream; false when there was none. */
  async delete(id: string): Promise<boolean> {
    return (await this.db.knex('upstream').where({ id }).delete()) === 1;
  }

  /** Throws when the database cannot answer. */
  async ping(): Promise<void> {
    await this.db.knex('upstream').select('id').limit(1);
  }

  async #putOnce(id: string, change: (present: UpstreamRow | undefined, stored: number) => UpstreamRow): Promise<UpstreamRow> {
    return this.db.transaction(async (tx) => {
      const [presentRow] = await tx('upstream').select(columns).where({ id }).forUpdate();
      const present = presentRow === undefined ? undefined : fromRow(presentRow);
      const [counted] = await tx('upstream').count({ stored: '*' });
      const row = { ...change(present, asNumber(counted?.['stored'])), id, ...(present === undefined ? {} : { createdAtMs: present.createdAtMs }) };
      if (present === undefined) await tx('upstream').insert(toRow(row));
      else await tx('upstream').where({ id }).update(toRow(row));
      return row;
    });
  }
}

function fromRow(row: Record<string, unknown>): UpstreamRow {
  return {
    id: asText(row['id']),
    wireFormat: asNumber(row['wire_format']),
    baseUrl: asText(row['base_url']),
    sealedSecret: optional(row['sealed_secret'], asText),
    secretLastFour: asText(row['secret_last_four']),
    allowPrivateNetwork: asNumber(row['allow_private_network']) === 1,
    enabled: asNumber(row['enabled']) === 1,
    createdAtMs: asBigInt(row['created_at_ms']),
  };
}

function toRow(row: UpstreamRow): Record<string, unknown> {
  return {
    id: row.id,
    wire_format: row.wireFormat,
    base_url: row.baseUrl,
    sealed_secret: row.sealedSecret ?? null,
    secret_last_four: row.secretLastFour,
    allow_private_network: row.allowPrivateNetwork ? 1 : 0,
    enabled: row.enabled ? 1 : 0,
    created_at_ms: row.createdAtMs,
  };
}
