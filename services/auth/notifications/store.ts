// The SQL of notifications: a queue shared by several processes, and a log.
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain-transaction.js';
import { asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import { NotificationChannel, NotificationState } from '#proto/auth/v1/notifications.js';
import { happenedAtMs } from '../store/installation.js';
import type { Outcome, StoredNotification } from './model.js';

const { NOTIFICATION_STATE_PENDING: pending, NOTIFICATION_STATE_WITHDRAWN: withdrawn } = NotificationState;

/** Reads and writes notifications in a database. */
export class NotificationStore {
  constructor(private readonly db: Database) {}

  async add(tx: Knex.Transaction, notification: StoredNotification): Promise<void> {
    const { accountId, dependsOn, channel, destination, eventJson, state, attempts, attemptsMax, outcome, sealedContent, dueAtMs } =
      notification;
    await tx('notification').insert({
      id: bytesOf(notification.id),
      account_id: accountId === undefined ? null : idToBytes('acct', accountId),
      depends_on: dependsOn,
      channel,
      destination,
      event: eventJson,
      state,
      attempts,
      attempts_max: attemptsMax,
      outcome,
      sealed_content: sealedContent ?? null,
      due_at_ms: dueAtMs,
    });
  }

  /** Returns the notifications with these ids, in no particular order. */
  async find(ids: readonly string[], knex: Knex = this.db.knex): Promise<StoredNotification[]> {
    const rows: Row[] = await knex('notification').select().whereIn('id', ids.map(bytesOf));
    return rows.map(toNotification);
  }

  /** Returns notifications that are due, the longest waiting first. */
  async due(nowMs: number, limit: number): Promise<StoredNotification[]> {
    const due = 'SELECT * FROM notification WHERE state = ? AND due_at_ms <= ? ORDER BY due_at_ms LIMIT ?';
    return (await this.db.query(due, [pending, nowMs, limit])).map(toNotification);
  }

  /** Claims a notification for one attempt until this instant, after which others may claim it; undefined if another process claimed it first. */
  async claim(notification: StoredNotification, untilMs: number): Promise<StoredNotification | undefined> {
    const { id, dueAtMs, attempts } = notification;
    const claimed = await this.db
      .knex('notification')
      .where({ id: bytesOf(id), state: pending, due_at_ms: dueAtMs, attempts })
      .update({ due_at_ms: untilMs, attempts: attempts + 1 });
    return claimed === 1 ? { ...notification, dueAtMs: untilMs, attempts: attempts + 1 } : undefined;
  }

  /** Records the outcome of an attempt, unless another attempt was started meanwhile. The content of a completed notification is deleted. */
  async note({ id, attempts }: StoredNotification, { state, outcome, dueAtMs }: Outcome): Promise<void> {
    await this.db
      .knex('notification')
      .where({ id: bytesOf(id), state: pending, attempts })
      .update({ state, outcome, due_at_ms: dueAtMs, ...(state === pending ? {} : { sealed_content: null }) });
  }

  /** Withdraws an account's pending notifications that are older than this id and go to other destinations. */
  async withdrawOthers(
    tx: Knex.Transaction,
    of: { accountId: string; beforeId: string; destinations: readonly string[] },
    outcome: Omit<Outcome, 'state'>,
  ): Promise<void> {
    await olderPending(tx, of)
      .whereNotIn('destination', of.destinations)
      .update({ state: withdrawn, outcome: outcome.outcome, due_at_ms: outcome.dueAtMs, sealed_content: null });
  }

  /** Withdraws all pending notifications; returns how many. */
  async withdrawAll(tx: Knex.Transaction, { outcome, dueAtMs }: Omit<Outcome, 'state'>): Promise<number> {
    return tx('notification').where({ state: pending }).update({ state: withdrawn, outcome, due_at_ms: dueAtMs, sealed_content: null });
  }

  /** Returns since when nothing is delivered, because the installation was restored; 0 when deliveries are not paused. */
  async pausedAtMs(): Promise<number> {
    return happenedAtMs(this.db.knex, 'deliveries_paused');
  }

  /** Replaces the content of an account's pending notifications to webhooks that are older than this id. */
  async resealWebhooks(
    tx: Knex.Transaction,
    of: { accountId: string; beforeId: string },
    sealedContent: (id: string) => string,
  ): Promise<void> {
    const webhooks = { channel: NotificationChannel.NOTIFICATION_CHANNEL_WEBHOOK };
    const rows: Row[] = await olderPending(tx, of).where(webhooks).select('id');
    for (const row of rows) {
      const id = asBytes(row['id']);
      await tx('notification')
        .where({ id, state: pending })
        .update({ sealed_content: sealedContent(idFromBytes('ntf', id)) });
    }
  }

  /** Returns notifications of an account that are older than this one, newest first. */
  async page(accountId: Buffer, before: Buffer | undefined, limit: number): Promise<StoredNotification[]> {
    const query = this.db.knex('notification').select().where({ account_id: accountId }).orderBy('id', 'desc').limit(limit);
    if (before !== undefined) query.where('id', '<', before);
    const rows: Row[] = await query;
    return rows.map(toNotification);
  }

  /** Returns how many notifications are pending, and when the oldest was created; 0 if none is. */
  async waiting(): Promise<{ pending: number; oldestAtMs: number }> {
    const [row]: Row[] = await this.db.knex('notification').where({ state: pending }).count({ pending: '*' }).min({ oldest: 'id' });
    const oldest = optional(row?.['oldest'], asBytes);
    return { pending: asNumber(row?.['pending'] ?? 0), oldestAtMs: oldest === undefined ? 0 : createdAtMs(oldest) };
  }

  /** Removes at most `limit` notifications that were completed before this instant; returns how many were removed. */
  async removeCompleted(beforeMs: number, limit: number): Promise<number> {
    const rows: Row[] = await this.db
      .knex('notification')
      .select('id')
      .whereIn('state', completed)
      .where('due_at_ms', '<', beforeMs)
      .limit(limit);
    await this.db
      .knex('notification')
      .whereIn(
        'id',
        rows.map((row) => asBytes(row['id'])),
      )
      .delete();
    return rows.length;
  }
}

const completed = [NotificationState.NOTIFICATION_STATE_DELIVERED, NotificationState.NOTIFICATION_STATE_FAILED, withdrawn];

/** Returns when a notification was created: ids begin with their instant. */
export function createdAtMs(id: Uint8Array): number {
  return Buffer.from(id).readUIntBE(0, 6);
}

export function bytesOf(id: string): Buffer {
  return idToBytes('ntf', id)!;
}

function olderPending(tx: Knex.Transaction, { accountId, beforeId }: { accountId: string; beforeId: string }): Knex.QueryBuilder {
  return tx('notification')
    .where({ account_id: idToBytes('acct', accountId), state: pending })
    .where('id', '<', bytesOf(beforeId));
}

function toNotification(row: Row): StoredNotification {
  return {
    id: idFromBytes('ntf', asBytes(row['id'])),
    accountId: optional(row['account_id'], (value) => idFromBytes('acct', asBytes(value))),
    dependsOn: asText(row['depends_on']),
    channel: asNumber(row['channel']),
    destination: asText(row['destination']),
    eventJson: asText(row['event']),
    state: asNumber(row['state']),
    attempts: asNumber(row['attempts']),
    attemptsMax: asNumber(row['attempts_max']),
    outcome: asText(row['outcome']),
    sealedContent: optional(row['sealed_content'], asText),
    dueAtMs: asNumber(row['due_at_ms']),
  };
}
