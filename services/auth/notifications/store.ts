// The SQL of notifications: a queue shared by several processes, and a log.
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import { asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import { NotificationChannel, NotificationState } from '#proto/auth/v1/notifications.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { happenedAtMs } from '../store/installation.js';
import { type Busy, noEvent, type Outcome, type StoredNotification } from './model.js';

const { NOTIFICATION_STATE_PENDING: pending, NOTIFICATION_STATE_WITHDRAWN: withdrawn } = NotificationState;

/** Failed mails that are read to find out why mails wait. */
const failedMailsRead = 100;

/** Reads and writes notifications in a database. */
export class NotificationStore {
  constructor(private readonly db: Database) {}

  async add(tx: Knex.Transaction, notification: StoredNotification): Promise<void> {
    const { accountId, endpointId, dependsOn, channel, destination, eventJson } = notification;
    const { state, attempts, attemptsMax, outcome, sealedContent, dueAtMs } = notification;
    await tx('notification').insert({
      id: bytesOf(notification.id),
      account_id: accountId === undefined ? null : idToBytes('acct', accountId),
      depends_on: dependsOn,
      channel,
      endpoint_id: endpointId === undefined ? null : idToBytes('whe', endpointId),
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

  /** Returns notifications that are due, the longest waiting first, except those that are busy. */
  async due(nowMs: number, limit: number, { mails, endpoints }: Busy): Promise<StoredNotification[]> {
    const { ids, accountIds } = endpoints === 'all' ? { ids: [], accountIds: [] } : endpoints;
    const lists = [
      { column: 'endpoint_id', ids: ids.map((id) => idToBytes('whe', id)!) },
      { column: 'account_id', ids: accountIds.map((id) => idToBytes('acct', id)!) },
    ].filter((list) => list.ids.length > 0);
    const others = lists.map((list) => `${list.column} NOT IN (${list.ids.map(() => '?').join(', ')})`).join(' AND ');
    const except = endpoints === 'all' ? 'AND endpoint_id IS NULL' : others === '' ? '' : `AND (endpoint_id IS NULL OR (${others}))`;
    const exceptMails = mails ? `AND channel <> ${NotificationChannel.NOTIFICATION_CHANNEL_MAIL}` : '';
    const due = `SELECT * FROM notification WHERE state = ? AND due_at_ms <= ? ${except} ${exceptMails} ORDER BY due_at_ms LIMIT ?`;
    return (await this.db.query(due, [pending, nowMs, ...lists.flatMap((list) => list.ids), limit])).map(toNotification);
  }

  /**
   * Claims a due notification for one attempt until `untilMs`, after which others may claim it. Returns undefined if it was claimed before, which the
   * notification as it was read may show: it is due later then.
   */
  async claim(notification: StoredNotification, nowMs: number, untilMs: number): Promise<StoredNotification | undefined> {
    const { id, dueAtMs, attempts } = notification;
    if (dueAtMs > nowMs) return undefined;
    const claimed = await this.db
      .knex('notification')
      .where({ id: bytesOf(id), state: pending, due_at_ms: dueAtMs, attempts })
      .update({ due_at_ms: untilMs, attempts: attempts + 1 });
    return claimed === 1 ? { ...notification, dueAtMs: untilMs, attempts: attempts + 1 } : undefined;
  }

  /** Extends the claim of an attempt until `untilMs`, unless another attempt was started meanwhile. */
  async extendClaim({ id, attempts }: StoredNotification, untilMs: number): Promise<void> {
    await this.db
      .knex('notification')
      .where({ id: bytesOf(id), state: pending, attempts })
      .update({ due_at_ms: untilMs });
  }

  /** Records the outcome of an attempt, unless another attempt was started meanwhile. The content of a completed notification is deleted. */
  async note({ id, attempts }: StoredNotification, { state, outcome, dueAtMs }: Outcome): Promise<void> {
    await this.db
      .knex('notification')
      .where({ id: bytesOf(id), state: pending, attempts })
      .update({ state, outcome, due_at_ms: dueAtMs, ...(state === pending ? {} : { sealed_content: null }) });
  }

  /** Withdraws an account's pending mails about events that are older than this id and go to other destinations. */
  async withdrawOthers(
    tx: Knex.Transaction,
    of: { accountId: string; beforeId: string; destinations: readonly string[] },
    outcome: Omit<Outcome, 'state'>,
  ): Promise<void> {
    await tx('notification')
      .where({ account_id: idToBytes('acct', of.accountId), state: pending, endpoint_id: null })
      .where('id', '<', bytesOf(of.beforeId))
      .whereNotIn('destination', of.destinations)
      .whereNot({ event: noEvent })
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

  /** Makes a request pending for one more attempt. Returns it as it is now; undefined if it has changed since it was read. */
  async restart(
    tx: Knex.Transaction,
    before: StoredNotification,
    change: Pick<StoredNotification, 'attempts' | 'dueAtMs' | 'destination'>,
  ): Promise<StoredNotification | undefined> {
    const { id, state, attempts, attemptsMax } = before;
    const after = { ...before, ...change, state: pending, attemptsMax: state === pending ? attemptsMax : attempts + 1 };
    const restarted = await tx('notification')
      .where({ id: bytesOf(id), state, attempts })
      .update({
        state: pending,
        attempts: after.attempts,
        attempts_max: after.attemptsMax,
        due_at_ms: after.dueAtMs,
        destination: after.destination,
      });
    return restarted === 1 ? after : undefined;
  }

  /** Sends the pending requests of an endpoint to another address. */
  async redirect(tx: Knex.Transaction, endpointId: string, destination: string): Promise<void> {
    await tx('notification').where(pendingTo(endpointId)).update({ destination });
  }

  /** Withdraws the pending requests of an endpoint. */
  async withdrawFrom(tx: Knex.Transaction, endpointId: string, { outcome, dueAtMs }: Omit<Outcome, 'state'>): Promise<void> {
    await tx('notification').where(pendingTo(endpointId)).update({ state: withdrawn, outcome, due_at_ms: dueAtMs });
  }

  /** Returns how many requests are pending, by endpoint; none for an endpoint without any. */
  async pendingOf(tx: Knex.Transaction, endpointIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows: Row[] = await tx('notification')
      .whereIn(
        'endpoint_id',
        endpointIds.map((id) => idToBytes('whe', id)!),
      )
      .where({ state: pending })
      .groupBy('endpoint_id')
      .select('endpoint_id')
      .count({ pending: '*' });
    return new Map(rows.map((row) => [idFromBytes('whe', asBytes(row['endpoint_id'])), asNumber(row['pending'])]));
  }

  /** Returns notifications of an account that are older than this one, newest first. */
  async page(
    accountId: Buffer,
    { channel, endpointId }: { channel: NotificationChannel; endpointId: Buffer | undefined },
    before: Buffer | undefined,
    limit: number,
  ): Promise<StoredNotification[]> {
    const query = this.db.knex('notification').select().where({ account_id: accountId }).orderBy('id', 'desc').limit(limit);
    if (channel !== 0) query.where({ channel });
    if (endpointId !== undefined) query.where({ endpoint_id: endpointId });
    if (before !== undefined) query.where('id', '<', before);
    const rows: Row[] = await query;
    return rows.map(toNotification);
  }

  /**
   * Returns how many notifications are pending, and when the oldest was created that Tollgate itself should have delivered: a mail, or a webhook request
   * without an attempt, since an endpoint may refuse requests for as long as it likes; 0 if there is none.
   */
  async waiting(): Promise<{ pending: number; oldestAtMs: number }> {
    const counted = 'SELECT COUNT(*) AS pending, MIN(CASE WHEN endpoint_id IS NULL OR attempts <= 1 THEN id END) AS oldest';
    const [row] = await this.db.query(`${counted} FROM notification WHERE state = ?`, [pending]);
    const oldest = optional(row?.['oldest'] ?? null, asBytes);
    return { pending: asNumber(row?.['pending'] ?? 0), oldestAtMs: oldest === undefined ? 0 : createdAtMs(oldest) };
  }

  /**
   * Returns why the newest pending mail that was attempted at least twice failed, preferably because of a fault of the connection or the sign-in; empty
   * if there is none. `isOneRecipient`: the mail server rejected all of them, and they have the same recipient.
   */
  async mailError(): Promise<{ outcome: string; isOneRecipient: boolean }> {
    const rows: Row[] = await this.db
      .knex('notification')
      .where({ state: pending, channel: NotificationChannel.NOTIFICATION_CHANNEL_MAIL })
      .where('attempts', '>=', 2)
      .whereNot('outcome', '')
      .orderBy('id', 'desc')
      .limit(failedMailsRead)
      .select('outcome', 'destination');
    const outcomes = rows.map((row) => asText(row['outcome']));
    const serverFault = outcomes.find((outcome) => !outcome.startsWith(finding('email_rejected', { detail: '' })));
    const recipients = new Set(rows.map((row) => asText(row['destination'])));
    return { outcome: serverFault ?? outcomes[0] ?? '', isOneRecipient: serverFault === undefined && recipients.size === 1 };
  }

  /** Removes at most `limit` notifications that were completed before this instant; returns how many were removed. */
  async removeCompleted(beforeMs: number, limit: number): Promise<number> {
    const old = () => this.db.knex('notification').whereIn('state', completed).where('due_at_ms', '<', beforeMs);
    const rows: Row[] = await old().select('id').limit(limit);
    // One that a user has sent again meanwhile is kept.
    await old()
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

function pendingTo(endpointId: string): Row {
  return { endpoint_id: idToBytes('whe', endpointId), state: pending };
}

function toNotification(row: Row): StoredNotification {
  return {
    id: idFromBytes('ntf', asBytes(row['id'])),
    accountId: optional(row['account_id'], (value) => idFromBytes('acct', asBytes(value))),
    dependsOn: asText(row['depends_on']),
    channel: asNumber(row['channel']),
    endpointId: optional(row['endpoint_id'], (value) => idFromBytes('whe', asBytes(value))),
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
