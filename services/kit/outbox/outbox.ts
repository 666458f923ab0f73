// Messages of a service on their way to another: written in the transaction of the change that causes them and shipped after it commits.
import type { Knex } from 'knex';
import type { Dialect } from '../db/migrations/dialect.js';
import type { Database } from '../db/open.js';
import type { PlainTransaction } from '../db/plain/plain-transaction.js';
import { Table } from '../db/plain/table.js';
import { asBytes, asText } from '../db/values.js';
import { idFromBytes, idToBytes, newId } from '../id.js';
import type { Logger } from '../log.js';
import { Shipper } from './shipper.js';

/** A message, which the receiver stores once, however often it is sent. */
export interface OutboxMessage {
  /** An id of `Outbox.newId`. */
  readonly id: string;
}

/** Options of `Outbox`. */
export interface OutboxOptions<T extends OutboxMessage> {
  readonly db: Database;
  /** The name that was given to `outboxTable`. */
  readonly table: string;
  /** The prefix of the ids: "aud". */
  readonly prefix: string;
  /** What the messages are, for log lines: "audit events". */
  readonly what: string;
  /** Returns the message that was stored as JSON, with bigints as decimal strings. */
  decode(stored: unknown): T;
  /** Resolves once the receiver has stored all of them. */
  send(messages: readonly T[], signal: AbortSignal): Promise<unknown>;
  readonly log: Logger;
}

/** Returns the statement that creates the table of an outbox; part of the schema of each service that has one. */
export function outboxTable(sql: Dialect, name: string): string {
  return `CREATE TABLE ${name} (id ${sql.bytes(16)} NOT NULL PRIMARY KEY, message ${sql.longText} NOT NULL) ${sql.tableOptions}`;
}

/** Ships each message after its transaction has committed. Call `start` after the table was created; `stop` leaves messages that were not shipped for the next start. */
export class Outbox<T extends OutboxMessage> {
  /** Returns an id that sorts after those that it returned before. */
  readonly newId: (nowMs: number) => string;
  readonly #prefix: string;
  readonly #table: Table;
  readonly #shipper: Shipper<T>;

  constructor(options: OutboxOptions<T>) {
    const { db, table, prefix, decode } = options;
    this.#prefix = prefix;
    this.newId = orderedIds(prefix);
    this.#table = new Table(table, { key: ['id'], fixed: ['message'] });
    this.#shipper = new Shipper({
      ...options,
      read: async (limit) => {
        const rows = (await db.knex(table).orderBy('id').limit(limit).select('message')) as Record<string, unknown>[];
        return rows.map((row) => decode(JSON.parse(asText(row['message']))));
      },
      remove: async (messages) => {
        await db
          .knex(table)
          .whereIn(
            'id',
            messages.map(({ id }) => this.#key(id)),
          )
          .delete();
      },
    });
  }

  start(): void {
    this.#shipper.start();
  }

  stop(): Promise<void> {
    return this.#shipper.stop();
  }

  /** Adds messages. They are shipped after the transaction has committed, and never if it rolls back. */
  async add(tx: Knex.Transaction, messages: readonly T[]): Promise<void> {
    for (const message of messages) await tx(this.#table.name).insert({ id: this.#key(message.id), message: jsonOf(message) });
    tx.executionPromise.then(
      () => this.wake(),
      () => undefined,
    );
  }

  /** Adds messages within a plain transaction. Call `wake` after its commit. */
  async addPlain(tx: PlainTransaction, messages: readonly T[]): Promise<void> {
    await tx.insert(
      this.#table,
      messages.map((message) => [this.#key(message.id), jsonOf(message)]),
    );
  }

  /** Ships the committed messages. */
  wake(): void {
    this.#shipper.wake();
  }

  #key(id: string): Buffer {
    return idToBytes(this.#prefix, id)!;
  }
}

/** Returns when the oldest message of an outbox was created; 0 if all were shipped. */
export async function oldestMessageAtMs(knex: Knex, table: string): Promise<number> {
  const row = (await knex(table).orderBy('id').first('id')) as Record<string, unknown> | undefined;
  // Ids begin with the time of their creation.
  return row === undefined ? 0 : Buffer.from(asBytes(row['id'])).readUIntBE(0, 6);
}

/** Returns a generator of ids that sort in the order of their creation, even within one millisecond (RFC 9562, section 6.2, method 1). */
export function orderedIds(prefix: string): (nowMs: number) => string {
  let lastMs = 0;
  let counter = 0;
  return (nowMs) => {
    if (nowMs > lastMs) {
      lastMs = nowMs;
      counter = 0;
    } else {
      counter += 1;
    }
    if (counter > 0xfff) {
      lastMs += 1;
      counter = 0;
    }
    const bytes = idToBytes(prefix, newId(prefix, lastMs))!;
    bytes.writeUInt16BE(0x7000 | counter, 6);
    return idFromBytes(prefix, bytes);
  };
}

function jsonOf(message: unknown): string {
  return JSON.stringify(message, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
