// On SQLite, holds are found without reading those that have ended.
import { expect, it } from '@jest/globals';
import { quietConfig, startTestLedger } from '../testing/ledger.js';
import { endedWithoutEntry, isOpen } from './hold-conditions.js';

it('finds open holds, and ended ones without an entry, along their own indexes', async () => {
  const ledger = await startTestLedger('sqlite', quietConfig);
  try {
    const plan = async (where: string): Promise<string> => {
      const rows = await ledger.db.query(`EXPLAIN QUERY PLAN SELECT slot, id, account_id FROM hold WHERE ${where}`, []);
      return rows.map((row) => String(row['detail'])).join('; ');
    };
    expect(await plan(`${isOpen} AND expires_at_ms <= 1`)).toContain('USING COVERING INDEX hold_by_expiry');
    expect(await plan(isOpen)).toContain('USING COVERING INDEX hold_by_expiry');
    expect(await plan(`${isOpen} AND slot = 0 AND account_id = x'00'`)).toContain('hold_by_expiry');
    expect(await plan(`${endedWithoutEntry} AND expires_at_ms < 1`)).toContain('INDEX hold_without_entry');
  } finally {
    await ledger.stop();
  }
});
