// The audit events of a service, on their way to the service that keeps the audit log.
import type { Knex } from 'knex';
import type { Clock } from '../clock.js';
import type { Dialect } from '../db/migrations/dialect.js';
import type { Database } from '../db/open.js';
import type { PlainTransaction } from '../db/plain/plain-transaction.js';
import type { Logger } from '../log.js';
import { Outbox, outboxTable } from '../outbox/outbox.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { type AuditEvent, type AuditRecord, auditRecord } from './audit-event.js';

/** Records audit events in the transaction that makes the change. */
export interface AuditLog {
  append(tx: Knex.Transaction, context: Pick<CallContext, 'caller' | 'actor'>, event: AuditEvent): Promise<void>;
}

/** Records the audit event of a change that a store makes, in the transaction of the change. */
export type AuditChange<T> = (tx: Knex.Transaction, before: T, after: T) => Promise<void>;

/** Keeps the audit log. Appends an event once, however often it is sent. */
export interface AuditReceiver {
  appendAuditEvents(request: { events: (AuditRecord & { number: bigint; hash: Buffer })[] }, context: CallContext): Promise<unknown>;
}

/** Options of `AuditOutbox`. */
export interface AuditOutboxOptions {
  readonly db: Database;
  readonly receiver: AuditReceiver;
  /** The name of this service, under which it calls the receiver. */
  readonly caller: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Services may share a database, so the name of the table begins with the service's. */
const tableOf = (service: string): string => `${service}_audit_outbox`;

/** Returns the statement that creates the outbox's table; part of the schema of each service that has one. */
export const auditOutboxTable = (sql: Dialect, service: string): string => outboxTable(sql, tableOf(service));

const sendTimeoutMs = 10_000;
const noHash = Buffer.alloc(0);

/** The outbox of a service's audit events. */
export class AuditOutbox implements AuditLog {
  readonly #clock: Clock;
  readonly #outbox: Outbox<AuditRecord>;

  constructor({ db, receiver, caller, clock, log }: AuditOutboxOptions) {
    this.#clock = clock;
    this.#outbox = new Outbox<AuditRecord>({
      db,
      table: tableOf(caller),
      prefix: 'aud',
      what: 'audit events',
      decode(stored) {
        const record = stored as AuditRecord;
        return { ...record, atMs: BigInt(record.atMs) };
      },
      // The receiver gives each event its number and hash.
      send: (events, signal) =>
        receiver.appendAuditEvents(
          { events: events.map((event) => ({ ...event, number: 0n, hash: noHash })) },
          callContext({ caller, timeoutMs: sendTimeoutMs, signal }),
        ),
      log,
    });
  }

  start(): void {
    this.#outbox.start();
  }

  stop(): Promise<void> {
    return this.#outbox.stop();
  }

  /** Adds an event. It is shipped after the transaction has committed, and never if it rolls back. */
  append(tx: Knex.Transaction, context: Pick<CallContext, 'caller' | 'actor'>, event: AuditEvent): Promise<void> {
    return this.#outbox.add(tx, [this.record(context, event)]);
  }

  /** Adds records within a plain transaction. Call `wake` after its commit. */
  appendRecords(tx: PlainTransaction, records: readonly AuditRecord[]): Promise<void> {
    return this.#outbox.addPlain(tx, records);
  }

  /** Returns the record of an event that happens now. */
  record(context: Pick<CallContext, 'caller' | 'actor'>, event: AuditEvent): AuditRecord {
    const nowMs = this.#clock.nowMs();
    return auditRecord(this.#outbox.newId(nowMs), nowMs, event, context);
  }

  /** Ships the committed events. */
  wake(): void {
    this.#outbox.wake();
  }
}
