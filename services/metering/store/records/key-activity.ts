// Finds when keys were last used.
import type { Database } from '#kit/db/open.js';
import { textOfRows } from '#kit/db/plain/sql-text.js';
import { asBigInt, asBytes, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { includesProject, type Projects } from '#kit/rpc/access/projects.js';
import type { KeyActivity } from '#proto/metering/v1/metering.js';
import { bytesOf } from './record-rows.js';

/** Reads the newest record of one key: the end of an index range. */
export const lastOfKeyText =
  'SELECT key_id, id, started_at_ms, model_id, project_id FROM usage_record WHERE account_id = ? AND key_id = ? ORDER BY started_at_ms DESC, id DESC LIMIT 1';

// A GROUP BY over the keys would read every record of theirs; this reads one per key, in one statement for all of them.
const lastOfKeysText = textOfRows((rows) =>
  Array.from({ length: rows }, (_, index) => `SELECT * FROM (${lastOfKeyText}) AS k${index}`).join(' UNION ALL '),
);

/** Returns, for each of these keys, the record whose call started last, unless it was in another project. The ids must be valid and distinct. */
export async function findLastOfKeys(
  db: Database,
  accountId: string,
  keyIds: readonly string[],
  projects: Projects,
): Promise<KeyActivity[]> {
  const account = bytesOf('acct', accountId);
  const values = keyIds.flatMap((keyId) => [account, bytesOf('key', keyId)]);
  const rows = await db.plainTransaction((tx) => tx.query(lastOfKeysText(keyIds.length), values));
  const visible = rows.filter((row) => includesProject(projects, idFromBytes('proj', asBytes(row['project_id']))));
  return visible.map((row) => ({
    keyId: idFromBytes('key', asBytes(row['key_id'])),
    lastCallId: idFromBytes('req', asBytes(row['id'])),
    lastStartedAtMs: asBigInt(row['started_at_ms']),
    lastModelId: asText(row['model_id']),
    refusing: undefined,
  }));
}
