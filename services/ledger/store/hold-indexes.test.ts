// On SQLite, holds are found without reading those that have ended.
import { expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { quietConfig, startTestLedger } from '../testing/ledger.js';
import { endedWithoutEntry, isOpen } from './hold-conditions.js';
import { Reads } from './reads.js';

it('finds open holds, and ended ones without an entry, along their own indexes', async () => {
  const ledger = await startTestLedger('sqlite', quietConfig);
  try {
    const plan = async (where: string): Promise<string> => {
      const rows = await ledger.db.query(`EXPLAIN QUERY PLAN SELECT slot, id, account_id FROM hold WHERE ${where}`, []);
      return rows.map((row) => String(row['detail'])).join('; ');
    };
    expect(await plan(`${isOpen} AND expires_at_ms <= 1`)).toContain('USING COVERING INDEX hold_by_expiry');
    expect(await plan(isOpen)).toContain('USING COVERING INDEX hold_by_expiry');
    expect(await plan(`${endedWithoutEntry} AND expires_at_ms < 1`)).toContain('INDEX hold_without_entry');
    const asked: { sql: string; bindings: string[] }[] = [];
    ledger.db.knex.on('query', (query) => asked.push(query));
    const reads = new Reads(ledger.db);
    const accountId = newId('acct');
    await reads.openHolds(accountId, undefined, 10);
    await reads.openHolds(accountId, { createdAtMs: 1, id: newId('req') }, 10);
    await reads.snapshot(accountId);
    const ofHolds = asked.filter(({ sql }) => sql.includes('from `hold`'));
    expect(ofHolds).toHaveLength(3);
    for (const { sql, bindings } of ofHolds) {
      const rows = await ledger.db.query(`EXPLAIN QUERY PLAN ${sql}`, bindings);
      expect(String(rows[0]!['detail'])).toContain('INDEX hold_by_expiry (state=?');
    }
  } finally {
    await ledger.stop();
  }
});
