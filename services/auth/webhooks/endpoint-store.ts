// The SQL of webhook endpoints.
import type { Knex } from 'knex';
import { fault } from '#client/errors/fault.js';
import type { Database } from '#kit/db/open.js';
import { asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import type { SecretBox } from '#kit/secrets/secret-box.js';
import { type WebhookEndpoint, WebhookEndpointState } from '#proto/auth/v1/webhooks.js';
import { mailLanguage } from '#rules/mail-language.js';
import type { Row } from '../store/rows.js';

const { WEBHOOK_ENDPOINT_STATE_ENABLED: enabled, WEBHOOK_ENDPOINT_STATE_FAILED: failed } = WebhookEndpointState;

/** Maximum number of endpoints per account. */
export const endpointsMax = 10;

/** The address to which a request was sent, which need not be the present address of its endpoint. */
export type AttemptedAddress = Pick<WebhookEndpoint, 'id' | 'url'>;

/** Returns the purpose for which the secrets of an endpoint are sealed. */
export function endpointPurpose(id: string): string {
  return `webhook endpoint ${id}`;
}

/** Stores the webhook endpoints of accounts. */
export class WebhookEndpointStore {
  constructor(
    private readonly db: Database,
    private readonly box: SecretBox,
  ) {}

  async ofAccount(accountId: string, knex: Knex = this.db.knex): Promise<WebhookEndpoint[]> {
    const rows: Row[] = await knex('webhook_endpoint')
      .where({ account_id: idToBytes('acct', accountId)! })
      .orderBy('id')
      .select();
    return rows.map(toEndpoint);
  }

  /** Returns up to `limit` enabled endpoints of all accounts, in the order of their ids, beginning after one. */
  async enabledAfter(id: string | undefined, limit: number): Promise<WebhookEndpoint[]> {
    const query = this.db.knex('webhook_endpoint').where({ state: enabled }).orderBy('id').limit(limit).select();
    if (id !== undefined) query.where('id', '>', key(id).id);
    return ((await query) as Row[]).map(toEndpoint);
  }

  /** Returns the enabled ones among these endpoints, locked so that they stay enabled until the end of the transaction. */
  async lockedEnabled(tx: Knex.Transaction, ids: readonly string[]): Promise<WebhookEndpoint[]> {
    const rows: Row[] = await tx('webhook_endpoint')
      .whereIn(
        'id',
        ids.map((id) => key(id).id),
      )
      .where({ state: enabled })
      .orderBy('id')
      .forShare()
      .select();
    return rows.map(toEndpoint);
  }

  /** Returns an endpoint of the account, locked until the end of the transaction. Raises not_found. */
  async locked(tx: Knex.Transaction, accountId: string, id: Buffer): Promise<WebhookEndpoint> {
    const row: Row | undefined = await tx('webhook_endpoint')
      .where({ id, account_id: idToBytes('acct', accountId)! })
      .forUpdate()
      .first();
    if (row === undefined) throw fault('no_such_id', { what: 'webhook endpoint' });
    return toEndpoint(row);
  }

  /** Adds an endpoint. Raises not_found for an unknown account, and failed_precondition when it has too many. */
  async add(tx: Knex.Transaction, endpoint: WebhookEndpoint, secret: string): Promise<void> {
    // Locking the account puts concurrent additions in order.
    const accountId = idToBytes('acct', endpoint.accountId)!;
    const account: Row | undefined = await tx('account').where({ id: accountId }).forUpdate().first('id');
    if (account === undefined) throw fault('no_such_id', { what: 'account' });
    if ((await this.ofAccount(endpoint.accountId, tx)).length >= endpointsMax) throw fault('webhooks_full', { max: endpointsMax });
    await tx('webhook_endpoint').insert({
      ...key(endpoint.id),
      account_id: accountId,
      sealed_secret: this.sealed(endpoint.id, secret),
      created_at_ms: endpoint.createdAtMs,
      ...settingsOf(endpoint),
    });
  }

  async update(tx: Knex.Transaction, endpoint: WebhookEndpoint): Promise<void> {
    await tx('webhook_endpoint').where(key(endpoint.id)).update(settingsOf(endpoint));
  }

  /** Replaces the secret; the previous one signs as well until `endpoint.previousSecretExpiresAtMs`. */
  async rotate(tx: Knex.Transaction, endpoint: WebhookEndpoint, secret: string): Promise<void> {
    const { id, previousSecretExpiresAtMs, updatedAtMs } = endpoint;
    const row: Row = await tx('webhook_endpoint').where(key(id)).first('sealed_secret');
    await tx('webhook_endpoint')
      .where(key(id))
      .update({
        sealed_secret: this.sealed(id, secret),
        sealed_previous_secret: previousSecretExpiresAtMs === 0n ? null : row['sealed_secret'],
        previous_secret_expires_at_ms: previousSecretExpiresAtMs === 0n ? null : previousSecretExpiresAtMs,
        updated_at_ms: updatedAtMs,
      });
  }

  async remove(tx: Knex.Transaction, id: string): Promise<void> {
    await tx('webhook_endpoint').where(key(id)).delete();
  }

  /** Returns the secrets that sign now, the current one first; empty if there is none that can be decrypted. */
  async signingSecrets(id: string, nowMs: number): Promise<string[]> {
    const row: Row | undefined = await this.db.knex('webhook_endpoint').where(key(id)).first();
    if (row === undefined) return [];
    const isOverlap = optional(row['previous_secret_expires_at_ms'], asNumber) ?? 0;
    const sealed = [row['sealed_secret'], isOverlap > nowMs ? row['sealed_previous_secret'] : null];
    return sealed.flatMap((each) => (each === null ? [] : (this.box.open(asText(each), endpointPurpose(id)) ?? [])));
  }

  async noteSuccess(attempted: AttemptedAddress): Promise<void> {
    await this.db.knex('webhook_endpoint').where(at(attempted)).whereNotNull('failing_since_ms').update({ failing_since_ms: null });
  }

  /**
   * Returns since when attempts have failed without one that succeeded, and without a pause longer than `pauseMsMax`; `nowMs` if the endpoint has another
   * address now.
   */
  async noteFailure(attempted: AttemptedAddress, nowMs: number, pauseMsMax: number): Promise<number> {
    const { knex } = this.db;
    const isContinued = 'failing_since_ms IS NOT NULL AND last_failed_at_ms >= ?';
    // In this order: MariaDB assigns from left to right, and the first assignment needs the previous failure (mariadb.com/kb/en/update).
    await knex('webhook_endpoint')
      .where(at(attempted))
      .update({
        failing_since_ms: knex.raw(`CASE WHEN ${isContinued} THEN failing_since_ms ELSE ? END`, [nowMs - pauseMsMax, nowMs]),
        last_failed_at_ms: nowMs,
      });
    const row: Row | undefined = await knex('webhook_endpoint').where(at(attempted)).first('failing_since_ms');
    return optional(row?.['failing_since_ms'] ?? null, asNumber) ?? nowMs;
  }

  /**
   * Disables an enabled endpoint and returns it; undefined if it is not enabled, has another address, or, with `failingByMs`, has not been failing since
   * then: an owner may have enabled it again meanwhile.
   */
  async disableFailed(
    tx: Knex.Transaction,
    attempted: AttemptedAddress,
    nowMs: number,
    failingByMs: number | undefined,
  ): Promise<WebhookEndpoint | undefined> {
    const query = tx('webhook_endpoint').where({ ...at(attempted), state: enabled });
    if (failingByMs !== undefined) query.where('failing_since_ms', '<=', failingByMs);
    const disabled = await query.update({ state: failed, updated_at_ms: nowMs });
    return disabled === 1 ? toEndpoint((await tx('webhook_endpoint').where(at(attempted)).first()) as Row) : undefined;
  }

  private sealed(id: string, secret: string): string {
    return this.box.seal(secret, endpointPurpose(id));
  }
}

function key(id: string): { id: Buffer } {
  return { id: idToBytes('whe', id)! };
}

function at({ id, url }: AttemptedAddress): { id: Buffer; url: string } {
  return { ...key(id), url };
}

function settingsOf({ url, description, eventTypes, state, failingSinceMs, language, updatedAtMs }: WebhookEndpoint): Row {
  return {
    url,
    description,
    event_types: JSON.stringify(eventTypes),
    state,
    failing_since_ms: failingSinceMs === 0n ? null : failingSinceMs,
    language,
    updated_at_ms: updatedAtMs,
  };
}

function toEndpoint(row: Row): WebhookEndpoint {
  const instant = (column: string): bigint => BigInt(optional(row[column] ?? null, asNumber) ?? 0);
  return {
    id: idFromBytes('whe', asBytes(row['id'])),
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    url: asText(row['url']),
    description: asText(row['description']),
    eventTypes: JSON.parse(asText(row['event_types'])) as string[],
    state: asNumber(row['state']),
    failingSinceMs: instant('failing_since_ms'),
    language: mailLanguage(asText(row['language'])),
    previousSecretExpiresAtMs: instant('previous_secret_expires_at_ms'),
    createdAtMs: instant('created_at_ms'),
    updatedAtMs: instant('updated_at_ms'),
  };
}
