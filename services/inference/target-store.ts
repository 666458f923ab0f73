// The SQL for the overrides of operators and the reported health of targets.
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import { asBytes, asNumber, asBigInt, asText } from '#kit/db/values.js';
import { ListTargetHealthResponse, OverrideMode, type TargetHealth, type TargetOverride } from '#proto/inference/v1/inference.js';

const overridesMax = 1000;
const instancesMax = 1000;

/**
 * The key of the row of `target_override` that holds no override, but until when an operator watches the health of targets. Every process reads it
 * with the overrides.
 */
const watched = { upstream_id: '', upstream_model: '', credential_id: '' };

/** The overrides that operators set, and until when one of them watches the health of targets. */
export interface Overrides {
  readonly overrides: TargetOverride[];
  readonly watchedUntilMs: number;
}

/** Stores overrides, and the reports of all processes. */
export class TargetStore {
  constructor(private readonly db: Database) {}

  /** Returns the overrides of all targets and credentials. */
  async overrides(): Promise<Overrides> {
    const rows = await this.db.query(
      `SELECT upstream_id, upstream_model, credential_id, mode, until_ms, set_at_ms FROM target_override ORDER BY upstream_id, upstream_model, credential_id LIMIT ${overridesMax}`,
      [],
    );
    const all = rows.map((row) => ({
      upstreamId: asText(row['upstream_id']),
      upstreamModel: asText(row['upstream_model']),
      credentialId: asText(row['credential_id']),
      mode: asNumber(row['mode']),
      untilMs: asBigInt(row['until_ms']),
      setAtMs: asBigInt(row['set_at_ms']),
    }));
    const overrides = all.filter(({ upstreamId }) => upstreamId !== '');
    return { overrides, watchedUntilMs: Number(all.find(({ upstreamId }) => upstreamId === '')?.untilMs ?? 0n) };
  }

  /** Notes that an operator watches the health of all targets until `untilMs`. */
  async watch(nowMs: number, untilMs: number): Promise<void> {
    const row = { mode: OverrideMode.OVERRIDE_MODE_UNSPECIFIED, until_ms: untilMs, set_at_ms: nowMs };
    await this.db
      .knex('target_override')
      .insert({ ...watched, ...row })
      .onConflict(Object.keys(watched))
      .merge(row);
  }

  /**
   * Sets the override of a target or credential in place of the previous one. Returning a target also removes the overrides of its credentials.
   * `before` runs first in the same transaction, and may throw.
   */
  async override(
    { upstreamId, upstreamModel, credentialId, mode, untilMs, setAtMs }: TargetOverride,
    before: (tx: Knex.Transaction) => Promise<void>,
  ): Promise<void> {
    const row = { mode, until_ms: untilMs, set_at_ms: setAtMs };
    await this.db.transaction(async (tx) => {
      await before(tx);
      const target = { upstream_id: upstreamId, upstream_model: upstreamModel };
      const isReturned = mode === OverrideMode.OVERRIDE_MODE_RETURN && credentialId === '';
      if (isReturned) await tx('target_override').where(target).delete();
      await tx('target_override')
        .insert({ ...target, credential_id: credentialId, ...row })
        .onConflict(['upstream_id', 'upstream_model', 'credential_id'])
        .merge(row);
    });
  }

  /** Returns the targets in the reports since `sinceMs`. */
  async health(sinceMs: number): Promise<TargetHealth[]> {
    const rows = await this.db
      .knex('target_health')
      .select(['targets'])
      .where('at_ms', '>=', sinceMs)
      .orderBy('instance')
      .limit(instancesMax);
    return rows.flatMap((row: Record<string, unknown>) => ListTargetHealthResponse.decode(asBytes(row['targets'])).targets);
  }

  /** Replaces the report of an instance, and removes those from before `oldMs`, whose processes have ended. */
  async report(instance: string, nowMs: number, oldMs: number, targets: readonly TargetHealth[]): Promise<void> {
    const row = { at_ms: nowMs, targets: Buffer.from(ListTargetHealthResponse.encode({ targets: [...targets], overrides: [] }).finish()) };
    await this.db.transaction(async (tx) => {
      await tx('target_health').where('at_ms', '<', oldMs).delete();
      if (targets.length === 0) await tx('target_health').where({ instance }).delete();
      else
        await tx('target_health')
          .insert({ instance, ...row })
          .onConflict('instance')
          .merge(row);
    });
  }
}
