// Divides a period into stretches with a bounded number of records, so that no statement of a long search occupies SQLite for long.
import type { Database } from '#kit/db/open.js';
import { asNumber } from '#kit/db/values.js';
import type { UsageFilter } from '#proto/metering/v1/metering.js';
import type { Stretch } from '../../rollups/plan.js';
import { bytesOf } from './record-rows.js';

/**
 * Yields stretches of a period, the newest first, each with about this many records along the index of the account and key, or of all records without an
 * account.
 */
export async function* stretchesOf(
  db: Database,
  { accountId, keyId }: Pick<UsageFilter, 'accountId' | 'keyId'>,
  { fromMs, untilMs }: Stretch,
  records: number,
): AsyncGenerator<Stretch> {
  const indexed: [string, Buffer][] = [];
  if (accountId !== '') indexed.push(['account_id = ? AND ', bytesOf('acct', accountId)]);
  if (accountId !== '' && keyId !== '') indexed.push(['key_id = ? AND ', bytesOf('key', keyId)]);
  const select =
    `SELECT started_at_ms FROM usage_record WHERE ${indexed.map(([condition]) => condition).join('')}started_at_ms < ?` +
    ' ORDER BY started_at_ms DESC, id DESC LIMIT 1 OFFSET ?';
  for (let endMs = Math.min(untilMs, Number.MAX_SAFE_INTEGER); endMs > fromMs;) {
    const [start] = await db.query(select, [...indexed.map(([, value]) => value), endMs, records]);
    const stretch = { fromMs: start === undefined ? fromMs : Math.max(fromMs, asNumber(start['started_at_ms'])), untilMs: endMs };
    yield stretch;
    endMs = stretch.fromMs;
  }
}
