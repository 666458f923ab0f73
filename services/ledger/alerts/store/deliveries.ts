// The SQL of messages: a queue shared by several processes, and a log.
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain-transaction.js';
import { asNumber } from '#kit/db/values.js';
import { AlertDeliveryState } from '#proto/ledger/v1/alerts.js';
import { accountColumns, bytesOf } from '../../store/rows.js';
import type { Delivery } from '../model.js';
import { deliveryColumns, deliveryRow, toDelivery } from './delivery-rows.js';

const {
  ALERT_DELIVERY_STATE_PENDING: pending,
  ALERT_DELIVERY_STATE_DELIVERED: delivered,
  ALERT_DELIVERY_STATE_FAILED: failed,
  ALERT_DELIVERY_STATE_WITHDRAWN: withdrawn,
} = AlertDeliveryState;

/** Holds the outcome of an attempt: final, or with another attempt to follow. */
export interface Outcome {
  readonly state: AlertDeliveryState;
  readonly outcome: string;
  /** When it is attempted next, or when it finished. */
  readonly dueAtMs: number;
}

/** Reads and writes messages in a database. */
export class DeliveryStore {
  constructor(private readonly db: Database) {}

  /** Adds messages, all or none. `audit` runs in the same transaction. */
  async add(deliveries: readonly Delivery[], audit: (tx: Knex.Transaction) => Promise<void>): Promise<void> {
    await this.db.transaction(async (tx) => {
      for (const delivery of deliveries) await tx('alert_delivery').insert(deliveryRow(delivery, this.db.engine));
      await audit(tx);
    });
  }

  /** Returns messages that are due, the longest waiting first. */
  async due(nowMs: number, limit: number): Promise<Delivery[]> {
    const rows: Row[] = await this.db
      .knex('alert_delivery')
      .select(...deliveryColumns)
      .where({ state: pending })
      .where('due_at_ms', '<=', nowMs)
      .orderBy('due_at_ms')
      .limit(limit);
    return rows.map(toDelivery);
  }

  /** Claims a message for one attempt until this instant, after which others may claim it; undefined if another process claimed it first. */
  async claim(delivery: Delivery, untilMs: number): Promise<Delivery | undefined> {
    const { dueAtMs, attempts } = delivery;
    const claimed = await this.one(delivery)
      .where({ state: pending, due_at_ms: dueAtMs, attempts })
      .update({ due_at_ms: untilMs, attempts: attempts + 1 });
    return claimed === 1 ? { ...delivery, dueAtMs: untilMs, attempts: attempts + 1 } : undefined;
  }

  /** Records the outcome of an attempt, unless another attempt was started meanwhile. */
  async note(delivery: Delivery, { state, outcome, dueAtMs }: Outcome): Promise<void> {
    await this.one(delivery).where({ state: pending, attempts: delivery.attempts }).update({ state, outcome, due_at_ms: dueAtMs });
  }

  /** Returns messages of an account that are older than this one, newest first. */
  async page(accountId: string, beforeId: string | undefined, limit: number): Promise<Delivery[]> {
    const query = this.ofAccount(accountId)
      .select(...deliveryColumns)
      .orderBy('id', 'desc')
      .limit(limit);
    if (beforeId !== undefined) query.where('id', '<', bytesOf('adl', beforeId));
    const rows: Row[] = await query;
    return rows.map(toDelivery);
  }

  /** Returns how many messages of an account were created since this instant, by the timestamp within their ids. */
  async countSince(accountId: string, sinceMs: number): Promise<number> {
    const first = Buffer.alloc(16);
    first.writeUIntBE(Math.max(0, sinceMs), 0, 6);
    const [row]: Row[] = await this.ofAccount(accountId).where('id', '>=', first).count({ messages: '*' });
    return asNumber(row?.['messages'] ?? 0);
  }

  /** Removes at most `limit` messages that finished before this instant; returns how many were removed. */
  async removeEnded(beforeMs: number, limit: number): Promise<number> {
    const rows: Row[] = await this.db
      .knex('alert_delivery')
      .select(...deliveryColumns)
      .whereIn('state', [delivered, failed, withdrawn])
      .where('due_at_ms', '<', beforeMs)
      .limit(limit);
    for (const row of rows) await this.one(toDelivery(row)).delete();
    return rows.length;
  }

  private ofAccount(accountId: string) {
    return this.db.knex('alert_delivery').where(accountColumns(accountId, this.db.engine));
  }

  private one({ accountId, id }: Delivery) {
    return this.ofAccount(accountId).where({ id: bytesOf('adl', id) });
  }
}
