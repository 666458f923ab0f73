// The ledger's four tables. Every primary key begins with the slot and holds the account, so that the tables can be sharded by it.
import type { Migration } from '#kit/db/migrate.js';

export const books: Migration = {
  name: '0001-books',
  statements(sql) {
    const slot = sql.engine === 'sqlite' ? 'INTEGER' : 'SMALLINT';
    const id = sql.bytes(16);
    return [
      // scope_id is sixteen zero bytes for the account's own money (cap_nano_usd: all its credits), a key's id for its lifetime
      // spend (no cap; a limit may be lowered below the spend, so no CHECK can hold it).
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
        last_seq ${sql.int64} NOT NULL,
        PRIMARY KEY (slot, id, account_id),
        CHECK (checkpoint_nano_usd <= amount_nano_usd)
      ) ${sql.tableOptions}`,
      'CREATE INDEX hold_by_expiry ON hold (state, expires_at_ms)',
      // One row is one transfer with both its sides, so it cannot be unbalanced. The key is the fence against a second writer.
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
        PRIMARY KEY (slot, account_id, seq),
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
    ];
  },
};
