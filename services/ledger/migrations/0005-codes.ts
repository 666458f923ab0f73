// Redemption codes by the hash of what was handed out, and how often an account's attempts were refused.
import type { Migration } from '#kit/db/migrate.js';

export const codes: Migration = {
  name: '0005-codes',
  statements(sql) {
    const slot = sql.engine === 'sqlite' ? 'INTEGER' : 'SMALLINT';
    const id = sql.bytes(16);
    return [
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
      // A batch that is made twice collides here.
      'CREATE UNIQUE INDEX code_by_batch ON redemption_code (batch_id, batch_number)',
      'CREATE INDEX code_by_state ON redemption_code (state, id)',
      `CREATE TABLE redemption_refusal (
        slot ${slot} NOT NULL,
        account_id ${id} NOT NULL,
        since_ms ${sql.int64} NOT NULL,
        refusals ${sql.int64} NOT NULL,
        PRIMARY KEY (slot, account_id)
      ) ${sql.tableOptions}`,
    ];
  },
};
