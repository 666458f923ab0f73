// The books, their archive and sums by month, redemption codes, and alerts. Every primary key of the books begins with the slot and contains the
// account, so that the tables can be sharded by the slot.
import { auditOutboxTable } from '#kit/audit/audit-outbox.js';
import type { Migration } from '#kit/db/migrations/migrate.js';
import { outboxTable } from '#kit/outbox/outbox.js';
import { endedWithoutEntry, isOpen } from '../store/hold-conditions.js';
import { notificationOutbox } from '../alerts/notification-outbox.js';

/** On SQLite an ended hold with an entry, which nearly every hold becomes, is in no index but the primary key. MySQL has no partial indexes. */
const holdIndexes = {
  sqlite: [
    `CREATE INDEX hold_by_expiry ON hold (state, expires_at_ms) WHERE ${isOpen}`,
    `CREATE INDEX hold_without_entry ON hold (expires_at_ms) WHERE ${endedWithoutEntry}`,
  ],
  mysql: ['CREATE INDEX hold_by_expiry ON hold (state, expires_at_ms)'],
} as const;

export const schema: Migration = {
  name: '0001-ledger',
  statements: (sql) => {
    const slot = sql.engine === 'sqlite' ? 'INTEGER' : 'SMALLINT';
    const id = sql.bytes(16);
    // On MySQL an operator may partition the journal by day (docs/storage.md), and a partition's column must be part of every unique key (MySQL
    // manual, "Partitioning Keys, Primary Keys, and Unique Keys"). Two writers of one number still collide unless midnight lies between them, and the
    // lock of the account's bucket keeps them apart.
    const journalKey = sql.engine === 'sqlite' ? 'slot, account_id, seq' : 'slot, account_id, seq, day';
    return [
      // scope_id is sixteen zero bytes for the account's own money (cap_nano_usd: all its credits), a key's id for its lifetime
      // spend (no cap; a limit may be lowered below the spend, so no CHECK can hold it), and a hash for the spend of a budget in one period:
      // budget is then the budget by its newest version, as JSON, and limit_nano_usd its limit if it is hard.
      `CREATE TABLE bucket (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        scope_id ${id} NOT NULL,
        cap_nano_usd ${sql.int64},
        spent_nano_usd ${sql.int64} NOT NULL CHECK (spent_nano_usd >= 0),
        held_nano_usd ${sql.int64} NOT NULL CHECK (held_nano_usd >= 0),
        seq ${sql.int64} NOT NULL,
        limit_nano_usd ${sql.int64},
        limit_version ${sql.int64} NOT NULL,
        month ${sql.int32} NOT NULL,
        deposited_nano_usd ${sql.int64} NOT NULL,
        refunded_nano_usd ${sql.int64} NOT NULL,
        budget ${sql.text(1000)},
        alert_at_nano_usd ${sql.int64},
        archived_nano_usd ${sql.int64} NOT NULL,
        PRIMARY KEY (slot, account_id, scope_id),
        CHECK (cap_nano_usd IS NULL OR spent_nano_usd + held_nano_usd <= cap_nano_usd)
      ) ${sql.tableOptions}`,
      // The id leads the account because it is time-ordered: new rows then go to the end of their slot.
      `CREATE TABLE hold (
        slot ${slot} NOT NULL,
        id ${id} NOT NULL,
        account_id ${id} NOT NULL,
        key_id ${id},
        amount_nano_usd ${sql.int64} NOT NULL CHECK (amount_nano_usd >= 0),
        checkpoint_nano_usd ${sql.int64} NOT NULL CHECK (checkpoint_nano_usd >= 0),
        captured_nano_usd ${sql.int64} NOT NULL CHECK (captured_nano_usd >= 0),
        shortfall_nano_usd ${sql.int64} NOT NULL CHECK (shortfall_nano_usd >= 0),
        state ${sql.int32} NOT NULL,
        created_at_ms ${sql.int64} NOT NULL,
        expires_at_ms ${sql.int64} NOT NULL,
        fingerprint ${id},
        budgets ${sql.longBytes},
        last_seq ${sql.int64} NOT NULL,
        refunded_nano_usd ${sql.int64} NOT NULL,
        charge_seq ${sql.int64} NOT NULL,
        PRIMARY KEY (slot, id, account_id),
        CHECK (checkpoint_nano_usd <= amount_nano_usd)
      ) ${sql.tableOptions}`,
      ...holdIndexes[sql.engine],
      // One row is one transfer with both its sides, so it cannot be unbalanced. The primary key rejects the entry of a second writer.
      `CREATE TABLE journal (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        seq ${sql.int64} NOT NULL,
        kind ${sql.int32} NOT NULL,
        debit ${sql.int32} NOT NULL,
        credit ${sql.int32} NOT NULL,
        amount_nano_usd ${sql.int64} NOT NULL CHECK (amount_nano_usd > 0),
        credited_after_nano_usd ${sql.int64} NOT NULL,
        spent_after_nano_usd ${sql.int64} NOT NULL,
        held_after_nano_usd ${sql.int64} NOT NULL,
        hold_id ${id},
        idempotency_key ${sql.text(200)},
        key_id ${id},
        reason ${sql.text(500)} NOT NULL,
        linked_seq ${sql.int64},
        created_at_ms ${sql.int64} NOT NULL,
        day ${sql.int32} NOT NULL,
        PRIMARY KEY (${journalKey}),
        CHECK (debit <> credit)
      ) ${sql.tableOptions}`,
      // The id is a hash of the idempotency key, since engines compare texts in different ways (MySQL ignores trailing spaces).
      `CREATE TABLE op (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        id ${id} NOT NULL,
        kind ${sql.int32} NOT NULL,
        fingerprint ${id} NOT NULL,
        result_seq ${sql.int64} NOT NULL,
        created_at_ms ${sql.int64} NOT NULL,
        PRIMARY KEY (slot, account_id, id)
      ) ${sql.tableOptions}`,
      // The sums of the archived beginning of an account's journal.
      `CREATE TABLE journal_base (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        seq ${sql.int64} NOT NULL,
        until_ms ${sql.int64} NOT NULL,
        sums ${sql.longText} NOT NULL,
        PRIMARY KEY (slot, account_id)
      ) ${sql.tableOptions}`,
      // The account's sums at the beginning of each month.
      `CREATE TABLE journal_month (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        month ${sql.int32} NOT NULL,
        first_seq ${sql.int64} NOT NULL,
        credited_nano_usd ${sql.int64} NOT NULL,
        spent_nano_usd ${sql.int64} NOT NULL,
        deposited_nano_usd ${sql.int64} NOT NULL,
        refunded_nano_usd ${sql.int64} NOT NULL,
        PRIMARY KEY (slot, account_id, month)
      ) ${sql.tableOptions}`,
      // The entries that are not charges.
      `CREATE TABLE journal_note (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        seq ${sql.int64} NOT NULL,
        kind ${sql.int32} NOT NULL,
        PRIMARY KEY (slot, account_id, seq)
      ) ${sql.tableOptions}`,
      // A code is found by the hash of its secret. Its slot is computed from that hash, because it belongs to no account until it is redeemed.
      `CREATE TABLE redemption_code (
        slot ${slot} NOT NULL,
        hash ${sql.bytes(32)} NOT NULL,
        id ${id} NOT NULL,
        batch_id ${id} NOT NULL,
        batch_number ${sql.int32} NOT NULL,
        last_four ${sql.text(4)} NOT NULL,
        amount_nano_usd ${sql.int64} NOT NULL CHECK (amount_nano_usd > 0),
        expires_at_ms ${sql.int64},
        note ${sql.text(200)} NOT NULL,
        created_by ${sql.text(200)} NOT NULL,
        created_at_ms ${sql.int64} NOT NULL,
        state ${sql.int32} NOT NULL,
        account_id ${id},
        result_seq ${sql.int64} NOT NULL,
        ended_at_ms ${sql.int64},
        PRIMARY KEY (slot, hash)
      ) ${sql.tableOptions}`,
      'CREATE UNIQUE INDEX code_by_id ON redemption_code (id)',
      // A batch that is created twice collides here.
      'CREATE UNIQUE INDEX code_by_batch ON redemption_code (batch_id, batch_number)',
      'CREATE INDEX code_by_state ON redemption_code (state, id)',
      `CREATE TABLE redemption_refusal (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        since_ms ${sql.int64} NOT NULL,
        refusals ${sql.int64} NOT NULL,
        PRIMARY KEY (slot, account_id)
      ) ${sql.tableOptions}`,
      // The version changes with every update, so that a decision applies only to the state it was made for. hour_messages counts the messages of
      // the hour that began at hour_began_ms.
      `CREATE TABLE alert (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        enabled ${sql.int32} NOT NULL CHECK (enabled IN (0, 1)),
        threshold_nano_usd ${sql.int64} NOT NULL CHECK (threshold_nano_usd > 0),
        emails ${sql.longText} NOT NULL,
        language ${sql.text(20)} NOT NULL,
        fired ${sql.int32} NOT NULL CHECK (fired IN (0, 1)),
        fired_at_ms ${sql.int64} NOT NULL,
        hour_began_ms ${sql.int64} NOT NULL,
        hour_messages ${sql.int32} NOT NULL,
        version ${sql.int64} NOT NULL,
        updated_at_ms ${sql.int64} NOT NULL,
        PRIMARY KEY (slot, account_id)
      ) ${sql.tableOptions}`,
      // Written with the charge that makes an alert of a budget due, and removed with its notifications.
      `CREATE TABLE budget_alert (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        scope_id ${id} NOT NULL,
        percent ${sql.int32} NOT NULL,
        spent_nano_usd ${sql.int64} NOT NULL,
        at_ms ${sql.int64} NOT NULL,
        PRIMARY KEY (slot, account_id, scope_id, percent)
      ) ${sql.tableOptions}`,

      outboxTable(sql, notificationOutbox),
      auditOutboxTable(sql, 'ledger'),
    ];
  },
};
