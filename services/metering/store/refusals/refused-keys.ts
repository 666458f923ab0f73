// Which keys have refused calls: the last series of each key and reason, and the alerts about their beginnings that are due.
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { keyedText, upsertText } from '#kit/db/plain/sql-text.js';
import { Table, type Values } from '#kit/db/plain/table.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { includesProject, type Projects } from '#kit/rpc/access/projects.js';
import type { KeyRefusals, RecordRefusalsRequest_Series as Series } from '#proto/metering/v1/metering.js';
import { refusalPauseMs, standingReasons } from '#rules/errors/refusals.js';
import { bytesOf } from '../records/record-rows.js';

const rowsPerStatement = 100;
/** An alert about the same key and reason is repeated at most this often. */
const alertEveryMs = 3_600_000;
/** How long after its last refused call a key still counts as refusing. */
const currentMs = 86_400_000;

const refusedKeys = new Table('refused_key', {
  key: ['account_id', 'key_id', 'reason'],
  changing: ['project_id', 'since_ms', 'last_at_ms', 'alerted_at_ms', 'alert_due_ms'],
});
// Leaves a row that exists as it is, and locks it.
const ensureOn = (engine: 'sqlite' | 'mysql') => upsertText(engine, refusedKeys.name, refusedKeys.columns, refusedKeys.key, ['account_id']);
const ensure = { sqlite: ensureOn('sqlite'), mysql: ensureOn('mysql') };
const ofKeys = keyedText(['account_id', 'key_id']);

/** Holds a series of refused calls about whose beginning an alert is due. */
export interface DueKeyAlert {
  readonly accountId: string;
  readonly keyId: string;
  readonly projectId: string;
  readonly reason: string;
  /** The first refused call as it was known when the alert became due: the same in each attempt to send it. */
  readonly sinceMs: number;
  /** Since when the alert is due. */
  readonly dueMs: number;
}

interface Refused {
  readonly projectId: string;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Continues or begins the series of the keys in a batch. Returns whether an alert is due. The series must be valid. */
export async function noteRefusedKeys(tx: PlainTransaction, series: readonly Series[], nowMs: number): Promise<boolean> {
  const refused = new Map<string, Refused>();
  for (const { accountId, keyId, projectId, reason, examples } of series) {
    const name = `${accountId} ${keyId} ${reason}`;
    const times = examples.map(({ refusedAtMs }) => Number(refusedAtMs));
    const before = refused.get(name);
    // In a flood some calls are only counted; they were refused about now.
    const firstMs = Math.min(...(times.length === 0 ? [nowMs] : times), before?.firstMs ?? Infinity);
    refused.set(name, { projectId, firstMs, lastMs: Math.max(...(times.length === 0 ? [nowMs] : times), before?.lastMs ?? 0) });
  }
  // In key order, so that concurrent batches do not deadlock.
  const keyed = [...refused]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, each]) => ({ key: keyOf(name), name, ...each }));
  let isDue = false;
  for (let start = 0; start < keyed.length; start += rowsPerStatement) {
    const part = keyed.slice(start, start + rowsPerStatement);
    const absent = part.map(({ key, projectId }) => [...key, bytesOf('proj', projectId), 0, 0, 0, 0]);
    const perStatement = tx.engine === 'sqlite' ? 1 : rowsPerStatement;
    for (let at = 0; at < absent.length; at += perStatement) {
      const some = absent.slice(at, at + perStatement);
      await tx.run(ensure[tx.engine](some.length), some.flat());
    }
    const stored = new Map<string, Values>();
    for (const row of await tx.find(
      refusedKeys,
      part.map(({ key }) => key),
    ))
      stored.set(`${idFromBytes('acct', asBytes(row[0]))} ${idFromBytes('key', asBytes(row[1]))} ${asText(row[2])}`, row);
    const rows = part.map(({ key, name, projectId, firstMs, lastMs }) => {
      const [sinceMs, lastAtMs, alertedAtMs, alertDueMs] = stored.get(name)!.slice(4).map(asNumber) as [number, number, number, number];
      const continues = firstMs - lastAtMs < refusalPauseMs;
      const isNew = !continues && isStanding(String(key[2])) && firstMs - alertedAtMs >= alertEveryMs;
      isDue ||= isNew;
      return [
        ...key,
        bytesOf('proj', projectId),
        continues ? Math.min(sinceMs, firstMs) : firstMs,
        Math.max(lastAtMs, lastMs),
        isNew ? firstMs : alertedAtMs,
        isNew ? nowMs : alertDueMs,
      ];
    });
    await tx.overwrite(refusedKeys, rows);
  }
  return isDue;
}

/** Returns the last series of each of these keys that ended within the last day, by key id, as far as the user may see its project. */
export async function findRefusals(
  db: Database,
  accountId: string,
  keyIds: readonly string[],
  projects: Projects,
  nowMs: number,
): Promise<Map<string, KeyRefusals>> {
  const account = bytesOf('acct', accountId);
  const rows = await db.plainTransaction((tx) =>
    tx.query(
      `SELECT key_id, reason, project_id, since_ms, last_at_ms FROM refused_key WHERE ${ofKeys(keyIds.length)} AND last_at_ms > ? ORDER BY last_at_ms`,
      [...keyIds.flatMap((keyId) => [account, bytesOf('key', keyId)]), nowMs - currentMs],
    ),
  );
  const visible = rows.filter((row) => includesProject(projects, idFromBytes('proj', asBytes(row['project_id']))));
  return new Map(
    visible.map((row) => [
      idFromBytes('key', asBytes(row['key_id'])),
      { reason: asText(row['reason']), sinceMs: asBigInt(row['since_ms']), lastAtMs: asBigInt(row['last_at_ms']) },
    ]),
  );
}

/** Returns up to `limit` alerts that are due. */
export async function dueKeyAlerts(db: Database, nowMs: number, limit: number): Promise<DueKeyAlert[]> {
  const rows = await db.query(
    'SELECT account_id, key_id, project_id, reason, alerted_at_ms, alert_due_ms FROM refused_key' +
      ' WHERE alert_due_ms > 0 AND alert_due_ms <= ? ORDER BY alert_due_ms LIMIT ?',
    [nowMs, limit],
  );
  return rows.map((row) => ({
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    keyId: idFromBytes('key', asBytes(row['key_id'])),
    projectId: idFromBytes('proj', asBytes(row['project_id'])),
    reason: asText(row['reason']),
    sinceMs: asNumber(row['alerted_at_ms']),
    dueMs: asNumber(row['alert_due_ms']),
  }));
}

/** Claims an alert until then, when it is due again. Returns undefined if another replica has claimed or sent it since it was read. */
export async function claimKeyAlert(db: Database, due: DueKeyAlert, untilMs: number): Promise<DueKeyAlert | undefined> {
  return (await moveKeyAlert(db, due, untilMs)) ? { ...due, dueMs: untilMs } : undefined;
}

/** Records that the ledger has accepted a claimed alert. */
export async function clearKeyAlert(db: Database, claimed: DueKeyAlert): Promise<void> {
  await moveKeyAlert(db, claimed, 0);
}

async function moveKeyAlert(db: Database, { accountId, keyId, reason, dueMs }: DueKeyAlert, toMs: number): Promise<boolean> {
  const key = { account_id: bytesOf('acct', accountId), key_id: bytesOf('key', keyId), reason };
  return (
    (await db
      .knex(refusedKeys.name)
      .where({ ...key, alert_due_ms: dueMs })
      .update({ alert_due_ms: toMs })) === 1
  );
}

function isStanding(reason: string): boolean {
  return standingReasons.some((each) => each === reason);
}

function keyOf(name: string): Values {
  const [accountId = '', keyId = '', reason] = name.split(' ');
  return [bytesOf('acct', accountId), bytesOf('key', keyId), reason];
}
