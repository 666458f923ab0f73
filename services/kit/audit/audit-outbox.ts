// The audit events of a service, on their way to the service that keeps the audit log: written in the transaction of the change
// and shipped after it commits.
import type { Knex } from 'knex';
import type { Clock } from '../clock.js';
import type { Dialect } from '../db/dialect.js';
import type { Database } from '../db/open.js';
import type { PlainTransaction } from '../db/plain-transaction.js';
import { Table } from '../db/table.js';
import { asBigInt, asBytes, asText } from '../db/values.js';
import { idFromBytes, idToBytes, newId } from '../id.js';
import type { Logger } from '../log.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { type AuditEvent, type AuditRecord, auditCharsMax, auditRecord } from './audit-event.js';
import { AuditShipper } from './audit-shipper.js';

/** Records audit events in the transaction that makes the change. */
export interface AuditLog {
  append(tx: Knex.Transaction, context: Pick<CallContext, 'caller' | 'actor'>, event: AuditEvent): Promise<void>;
}

/** Describes a change that a store makes, in the transaction of the change. */
export type AuditChange<T> = (tx: Knex.Transaction, before: T, after: T) => Promise<void>;

/** Keeps the audit log. Appends an event once, however often it is sent. */
export interface AuditReceiver {
  appendAuditEvents(request: { events: (AuditRecord & { number: bigint; hash: Buffer })[] }, context: CallContext): Promise<unknown>;
}

/** Options of `AuditOutbox`. */
export interface AuditOutboxOptions {
  readonly db: Database;
  readonly receiver: AuditReceiver;
  /** The name under which this service calls the receiver. */
  readonly caller: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Returns the statement that creates the outbox's table; part of the schema of each service that has one. */
export function auditOutboxTable(sql: Dialect): string {
  return `CREATE TABLE audit_outbox (
    id ${sql.bytes(16)} NOT NULL PRIMARY KEY,
    at_ms ${sql.int64} NOT NULL,
    actor_user_id ${sql.text(auditCharsMax.actorUserId)} NOT NULL,
    actor_name ${sql.text(auditCharsMax.actorName)} NOT NULL,
    client_address ${sql.text(auditCharsMax.clientAddress)} NOT NULL,
    caller ${sql.text(auditCharsMax.caller)} NOT NULL,
    account_id ${sql.text(auditCharsMax.accountId)} NOT NULL,
    action ${sql.text(auditCharsMax.action)} NOT NULL,
    target_id ${sql.text(auditCharsMax.targetId)} NOT NULL,
    detail ${sql.longText} NOT NULL
  ) ${sql.tableOptions}`;
}

const table = new Table('audit_outbox', {
  key: ['id'],
  fixed: ['at_ms', 'actor_user_id', 'actor_name', 'client_address', 'caller', 'account_id', 'action', 'target_id', 'detail'],
});

const sendTimeoutMs = 10_000;
const noHash = Buffer.alloc(0);

/** The outbox of a service. Call `start` after its table was created; `stop` leaves events that were not shipped for the next start. */
export class AuditOutbox implements AuditLog {
  readonly #options: AuditOutboxOptions;
  readonly #shipper: AuditShipper;
  readonly #newId = orderedIds();

  constructor(options: AuditOutboxOptions) {
    this.#options = options;
    const { db, receiver, caller, log } = options;
    this.#shipper = new AuditShipper({
      read: async (limit) => {
        const rows = (await db
          .knex(table.name)
          .orderBy('id')
          .limit(limit)
          .select(...table.columns)) as Record<string, unknown>[];
        return rows.map(toAuditRecord);
      },
      // The receiver gives each event its number and hash.
      send: (events, signal) =>
        receiver.appendAuditEvents(
          { events: events.map((event) => ({ ...event, number: 0n, hash: noHash })) },
          callContext({ caller, timeoutMs: sendTimeoutMs, signal }),
        ),
      remove: async (events) => {
        await db
          .knex(table.name)
          .whereIn(
            'id',
            events.map(({ id }) => idToBytes('aud', id)!),
          )
          .delete();
      },
      log,
    });
  }

  start(): void {
    this.#shipper.start();
  }

  stop(): Promise<void> {
    return this.#shipper.stop();
  }

  /** Adds an event. It is shipped after the transaction has committed, and never if it rolls back. */
  async append(tx: Knex.Transaction, context: Pick<CallContext, 'caller' | 'actor'>, event: AuditEvent): Promise<void> {
    const values = toValues(this.record(context, event));
    await tx(table.name).insert(Object.fromEntries(table.columns.map((column, index) => [column, values[index]])));
    tx.executionPromise.then(
      () => this.wake(),
      () => undefined,
    );
  }

  /** Adds records within a plain transaction. Call `wake` after its commit. */
  async appendRecords(tx: PlainTransaction, records: readonly AuditRecord[]): Promise<void> {
    await tx.insert(table, records.map(toValues));
  }

  /** Returns the record of an event that happens now. */
  record(context: Pick<CallContext, 'caller' | 'actor'>, event: AuditEvent): AuditRecord {
    const nowMs = this.#options.clock.nowMs();
    return auditRecord(this.#newId(nowMs), nowMs, event, context);
  }

  /** Ships the committed events. */
  wake(): void {
    this.#shipper.wake();
  }
}

/** Returns a generator of ids that sort in the order of their creation, even within one millisecond (RFC 9562, section 6.2, method 1). */
export function orderedIds(): (nowMs: number) => string {
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
    const bytes = idToBytes('aud', newId('aud', lastMs))!;
    bytes.writeUInt16BE(0x7000 | counter, 6);
    return idFromBytes('aud', bytes);
  };
}

function toValues(record: AuditRecord): readonly unknown[] {
  const { id, atMs, actorUserId, actorName, clientAddress, caller, accountId, action, targetId, detailJson } = record;
  return [idToBytes('aud', id), atMs, actorUserId, actorName, clientAddress, caller, accountId, action, targetId, detailJson];
}

/** Returns the record in a row of a table with the columns of the outbox. */
export function toAuditRecord(row: Readonly<Record<string, unknown>>): AuditRecord {
  return {
    id: idFromBytes('aud', asBytes(row['id'])),
    atMs: asBigInt(row['at_ms']),
    actorUserId: asText(row['actor_user_id']),
    actorName: asText(row['actor_name']),
    clientAddress: asText(row['client_address']),
    caller: asText(row['caller']),
    accountId: asText(row['account_id']),
    action: asText(row['action']),
    targetId: asText(row['target_id']),
    detailJson: asText(row['detail']),
  };
}
