// Queues the charges of settled records again, after the ledger was restored from a copy that does not contain their settlements.
import type { Database } from '#kit/db/open.js';
import { asBigInt } from '#kit/db/values.js';
import { idToBytes } from '#kit/id.js';
import { pending } from './outbox.js';

const atATime = 200;

/** Marks those records of these calls that are settled as unsettled, and queues their charges. The ledger books a charge once. */
export async function requeueSettlements(db: Database, callIds: readonly string[], nowMs: number): Promise<void> {
  for (let start = 0; start < callIds.length; start += atATime) {
    const ids = callIds.slice(start, start + atATime).map((id) => idToBytes('req', id)!);
    await db.transaction(async (tx) => {
      const rows = await tx('usage_record')
        .select('id', 'account_id', 'key_id', 'charge_nano_usd')
        .whereIn('id', ids)
        .whereNotNull('settled_at_ms');
      for (const row of rows) {
        await tx('usage_record').where({ id: row.id }).update({ captured_nano_usd: null, shortfall_nano_usd: null, settled_at_ms: null });
        await tx('outbox').insert({
          id: row.id,
          account_id: row.account_id,
          key_id: row.key_id,
          charge_nano_usd: asBigInt(row.charge_nano_usd),
          state: pending,
          attempts: 0,
          next_attempt_at_ms: nowMs,
          created_at_ms: nowMs,
          last_error: '',
        });
      }
    });
  }
}
